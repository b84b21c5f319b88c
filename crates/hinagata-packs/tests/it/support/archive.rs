//! Archives of every kind, including invalid ones that no program would create.

use std::io::Write as _;

use flate2::{
    Compression, Crc,
    write::{DeflateEncoder, GzEncoder},
};

/// Compresses `bytes` with gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("is written");
    encoder.finish().expect("ends")
}

/// A member of a `.tar`: name, kind and content.
#[derive(Clone, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: u8,
    pub(crate) link: &'a [u8],
    pub(crate) content: &'a [u8],
    /// The size in the header, if it is wrong.
    pub(crate) size: Option<u64>,
}

impl<'a> Member<'a> {
    pub(crate) fn file(name: &'a str, content: &'a str) -> Self {
        Self { name: name.as_bytes(), kind: b'0', link: b"", content: content.as_bytes(), size: None }
    }

    fn write(&self, tar: &mut Vec<u8>) {
        let mut header = [0; 512];
        header[..self.name.len()].copy_from_slice(self.name);
        header[100..107].copy_from_slice(b"0000644");
        let size = format!("{:011o}", self.size.unwrap_or(self.content.len() as u64));
        header[124..135].copy_from_slice(size.as_bytes());
        header[136..147].copy_from_slice(b"00000000000");
        header[156] = self.kind;
        header[157..157 + self.link.len()].copy_from_slice(self.link);
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend_from_slice(&header);
        tar.extend_from_slice(self.content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
}

/// A `.tar` of `members`.
pub(crate) fn tar(members: &[Member<'_>]) -> Vec<u8> {
    let mut tar = Vec::new();
    for member in members {
        member.write(&mut tar);
    }
    tar.resize(tar.len() + 1_024, 0);
    tar
}

/// A `.tar.gz` of files.
pub(crate) fn tar_gz(files: &[(&str, &str)]) -> Vec<u8> {
    let members: Vec<Member<'_>> = files.iter().map(|(name, content)| Member::file(name, content)).collect();
    gzip(&tar(&members))
}

/// An entry of a `.zip`.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a [u8],
    /// The name in the local header, if it differs.
    pub(crate) local_name: Option<&'a [u8]>,
    pub(crate) content: &'a [u8],
    /// The kind and the permissions of Unix.
    pub(crate) mode: u32,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    /// The unpacked size in the headers, if it is wrong.
    pub(crate) size: Option<u32>,
}

impl<'a> Entry<'a> {
    pub(crate) fn file(name: &'a str, content: &'a [u8]) -> Self {
        let utf8 = 1 << 11;
        Self {
            name: name.as_bytes(),
            local_name: None,
            content,
            mode: 0o100_644,
            flags: utf8,
            method: 8,
            size: None,
        }
    }

    fn packed(&self) -> Vec<u8> {
        match self.method {
            8 => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(self.content).expect("is written");
                encoder.finish().expect("ends")
            }
            _ => self.content.to_vec(),
        }
    }

    /// The fields that both headers share.
    fn common(&self, packed: usize, name: &[u8]) -> Vec<u8> {
        let mut crc = Crc::new();
        crc.update(self.content);
        let mut bytes = Vec::new();
        for number in [20, self.flags, self.method, 0, 0x21] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let length = |length: usize| u32::try_from(length).expect("is small");
        for number in [crc.sum(), length(packed), self.size.unwrap_or(length(self.content.len()))] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&u16::try_from(name.len()).expect("is short").to_le_bytes());
        bytes.extend_from_slice(&0_u16.to_le_bytes());
        bytes
    }
}

/// A `.zip` of `entries`.
pub(crate) fn zip(entries: &[Entry<'_>]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let (packed, start) = (entry.packed(), u32::try_from(zip.len()).expect("is small"));
        let local_name = entry.local_name.unwrap_or(entry.name);
        zip.extend_from_slice(b"PK\x03\x04");
        zip.extend_from_slice(&entry.common(packed.len(), local_name));
        zip.extend_from_slice(local_name);
        zip.extend_from_slice(&packed);
        directory.extend_from_slice(b"PK\x01\x02");
        // Created on Unix, so that the mode applies.
        directory.extend_from_slice(&0x0314_u16.to_le_bytes());
        directory.extend_from_slice(&entry.common(packed.len(), entry.name));
        directory.extend_from_slice(&[0; 6]);
        directory.extend_from_slice(&(entry.mode << 16).to_le_bytes());
        directory.extend_from_slice(&start.to_le_bytes());
        directory.extend_from_slice(entry.name);
    }
    let start = u32::try_from(zip.len()).expect("is small");
    let count = u16::try_from(entries.len()).expect("are few");
    zip.extend_from_slice(&directory);
    zip.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    zip.extend_from_slice(&count.to_le_bytes());
    zip.extend_from_slice(&count.to_le_bytes());
    zip.extend_from_slice(&u32::try_from(directory.len()).expect("is small").to_le_bytes());
    zip.extend_from_slice(&start.to_le_bytes());
    zip.extend_from_slice(&0_u16.to_le_bytes());
    zip
}
