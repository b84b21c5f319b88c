//! Packets over a SEQPACKET socket, with file descriptors.

use std::{
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    },
};

/// Maximum bytes of a packet from Python.
pub(crate) const MAX_SMALL_PACKET: usize = 8 << 10;
/// Maximum bytes of a packet.
pub(crate) const MAX_PACKET: usize = 128 << 10;
/// Maximum descriptors per packet.
const MAX_DESCRIPTORS: usize = 4;

/// The bytes of a packet and its descriptors.
pub(crate) type Packet = (Vec<u8>, Vec<OwnedFd>);

/// Creates a pair of close-on-exec packet sockets. The first is non-blocking.
pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

/// Sends bytes with descriptors. Returns the number of bytes sent.
pub(crate) fn send_packet(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::TOOBIG);
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)
}

/// Receives the next packet with its descriptors. It is empty at the end of the stream.
pub(crate) fn receive_packet(socket: impl AsFd, largest: usize) -> Result<Packet, Errno> {
    let mut bytes = vec![0; largest];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    bytes.truncate(received.bytes);
    let descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    Ok((bytes, descriptors.collect()))
}
