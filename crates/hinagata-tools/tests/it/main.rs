//! Tests of tools over HTTP, gRPC and MCP.

mod grpc;
mod mcp;
mod modules;
mod restful;
mod support;
