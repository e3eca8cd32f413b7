//! An echo server on one thread, a task for each connection. Prints its port, and ends when its standard input does.
//!
//! A task that waits holds no buffer: tokio at its best.
use std::io::{ErrorKind, Result};
use tokio::net::{TcpListener, TcpStream};

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?.port());
        std::thread::spawn(|| {
            while std::io::stdin().read_line(&mut String::new()).unwrap_or(0) > 0 {}
            std::process::exit(0);
        });
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // A connection that fails has ended.
            tokio::spawn(async move { echo(stream).await.ok() });
        }
    })
}

async fn echo(stream: TcpStream) -> Result<()> {
    loop {
        stream.readable().await?;
        match at_once(&stream)? {
            None => return Ok(()),
            Some(rest) => write(&stream, &rest).await?,
        }
    }
}

/// Sends back what is there, and returns what the system did not take; `None` at the end.
fn at_once(stream: &TcpStream) -> Result<Option<Vec<u8>>> {
    let mut buffer = [0; 1_024];
    let bytes = match stream.try_read(&mut buffer) {
        Ok(0) => return Ok(None),
        Ok(count) => &buffer[..count],
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Some(Vec::new())),
        Err(error) => return Err(error),
    };
    match stream.try_write(bytes) {
        Ok(count) => Ok(Some(bytes[count..].to_vec())),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Some(bytes.to_vec())),
        Err(error) => Err(error),
    }
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
