//! `mote_load PORT CONNECTIONS MILLISECONDS RATE`: clients of an echo server on this computer, for `mix mote.bench sockets`.
//!
//! It connects, sends 64 bytes over each connection and reads them back, prints `ready`, and waits for a line. Then it sends
//! for as long as was said: with a rate, so many messages a second, whose connections take turns; with the rate 0 as many as
//! it can, the next one of each connection when the last one is back. It prints how many came back, the nanoseconds that
//! this took, and the 99th of a hundred times from a send to its echo, in nanoseconds: the median of those of all twentieths
//! of a second, which other work on the computer that holds one of them up does not change, and that of the whole.
//!
//! 1. It ends when its standard input does, whatever it is at: so nothing stays of a bench that is killed.
//! 2. A message is counted when all of it is back. All that were sent are waited for, for ten seconds at most.
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Socket, Type};
use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

const MESSAGE: [u8; 64] = [b'x'; 64];
const PATIENCE: Duration = Duration::from_secs(10);
/// An address of one's own has some 28,000 ports that are free for connections to one server.
const PER_ADDRESS: usize = 20_000;
const EVENTS: usize = 1_024;
const SLICE: Duration = Duration::from_millis(50);

struct Client {
    stream: TcpStream,
    /// The times at which the messages were sent that are not back.
    sent: VecDeque<Instant>,
    /// Bytes of the first of them that are back.
    bytes: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let [port, connections, milliseconds, rate] = numbers[..] else {
        return Err("usage: mote_load PORT CONNECTIONS MILLISECONDS RATE".into());
    };
    let mut load = Load::new(u16::try_from(port)?, usize::try_from(connections)?)?;
    load.all_once()?;
    println!("ready");
    if std::io::stdin().read_line(&mut String::new())? == 0 {
        return Ok(());
    }
    std::thread::spawn(|| {
        while std::io::stdin().read_line(&mut String::new()).unwrap_or(0) > 0 {}
        std::process::exit(1);
    });
    let begin = Instant::now();
    load.times.clear();
    load.run(begin + Duration::from_millis(milliseconds), rate)?;
    let took = begin.elapsed().as_nanos();
    let count = load.times.len();
    let mut slices: HashMap<u128, Vec<Duration>> = HashMap::new();
    for &(sent, time) in &load.times {
        let slice = sent.duration_since(begin).as_nanos() / SLICE.as_nanos();
        slices.entry(slice).or_default().push(time);
    }
    let of_slices = slices.into_values().map(|times| at(times, 99)).collect();
    let of_all = load.times.iter().map(|&(_, time)| time).collect();
    let p99 = [at(of_slices, 50), at(of_all, 99)].map(|time| time.as_nanos());
    println!("{count} {took} {} {}", p99[0], p99[1]);
    Ok(())
}

/// The time that so many percent are not above.
fn at(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times
        .get(times.len() * percent / 100)
        .copied()
        .unwrap_or_default()
}

struct Load {
    poll: Poll,
    clients: Vec<Client>,
    waiting: usize,
    /// The time at which each message was sent that is back, and how long it took.
    times: Vec<(Instant, Duration)>,
}

impl Load {
    fn new(port: u16, connections: usize) -> Result<Load, Box<dyn Error>> {
        let poll = Poll::new()?;
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut clients = Vec::with_capacity(connections);
        for n in 0..connections {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            let own = Ipv4Addr::new(127, 0, 1, u8::try_from(1 + n / PER_ADDRESS)?);
            socket.bind(&SocketAddr::from((own, 0)).into())?;
            socket.connect(&server.into())?;
            socket.set_tcp_nodelay(true)?;
            // Its port is free at once when it is closed, and not in a minute.
            socket.set_linger(Some(Duration::ZERO))?;
            socket.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(socket.into());
            poll.registry()
                .register(&mut stream, Token(n), Interest::READABLE)?;
            clients.push(Client {
                stream,
                sent: VecDeque::new(),
                bytes: 0,
            });
        }
        Ok(Load {
            poll,
            clients,
            waiting: 0,
            times: Vec::new(),
        })
    }

    /// Over each connection there and back: whatever it needs once is there afterwards.
    fn all_once(&mut self) -> Result<(), Box<dyn Error>> {
        for n in 0..self.clients.len() {
            self.send(n)?;
        }
        self.rest(false, Instant::now())
    }

    fn run(&mut self, end: Instant, rate: u64) -> Result<(), Box<dyn Error>> {
        match 1_000_000_000_u64.checked_div(rate) {
            Some(every) => self.at_rate(end, Duration::from_nanos(every))?,
            None => {
                for n in 0..self.clients.len() {
                    self.send(n)?;
                }
            }
        }
        self.rest(rate == 0, end)
    }

    /// Sends whatever is due, and waits for echoes until more is. The system wakes by milliseconds, so there are small bursts.
    fn at_rate(&mut self, end: Instant, every: Duration) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(EVENTS);
        let mut due = Instant::now();
        let mut n = 0;
        while due < end {
            while due <= Instant::now() && due < end {
                self.send(n)?;
                n = (n + 1) % self.clients.len();
                due += every;
            }
            self.echoes(
                &mut events,
                due.saturating_duration_since(Instant::now()),
                None,
            )?;
        }
        Ok(())
    }

    /// Waits for all that is under way; if asked to go on, each connection sends again until the end.
    fn rest(&mut self, go_on: bool, end: Instant) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(EVENTS);
        while self.waiting > 0 {
            if Instant::now() > end + PATIENCE {
                return Err(format!(
                    "{} messages did not come back in {PATIENCE:?}",
                    self.waiting
                )
                .into());
            }
            self.echoes(
                &mut events,
                Duration::from_millis(100),
                go_on.then_some(end),
            )?;
        }
        Ok(())
    }

    fn echoes(
        &mut self,
        events: &mut Events,
        wait: Duration,
        again: Option<Instant>,
    ) -> Result<(), Box<dyn Error>> {
        match self.poll.poll(events, Some(wait)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        for event in events.iter() {
            let n = event.token().0;
            let back = self.read(n)?;
            if let Some(end) = again {
                if Instant::now() < end {
                    for _ in 0..back {
                        self.send(n)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads what is there, as events are told only once, and returns how many messages are back.
    fn read(&mut self, n: usize) -> Result<usize, Box<dyn Error>> {
        let client = &mut self.clients[n];
        let mut buffer = [0; 1_024];
        let mut back = 0;
        loop {
            match client.stream.read(&mut buffer) {
                Ok(0) => return Err("the server has closed a connection".into()),
                Ok(bytes) => {
                    let now = Instant::now();
                    client.bytes += bytes;
                    while client.bytes >= MESSAGE.len() {
                        let sent = client
                            .sent
                            .pop_front()
                            .ok_or("more came back than was sent")?;
                        client.bytes -= MESSAGE.len();
                        self.times.push((sent, now - sent));
                        back += 1;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(error.into()),
            }
        }
        self.waiting -= back;
        Ok(back)
    }

    /// Sends `n` bytes. So few bytes go out whole, unless the server has stopped to read.
    fn send(&mut self, n: usize) -> Result<(), Box<dyn Error>> {
        let client = &mut self.clients[n];
        client.sent.push_back(Instant::now());
        client.stream.write_all(&MESSAGE)?;
        self.waiting += 1;
        Ok(())
    }
}
