//! Which tier runs a behaviour, and the thread that compiles.
//!
//! A new behaviour is interpreted until its native code is ready: nothing waits for the compiler. The thread is there only while
//! there is something to compile. Code that was compiled before, for another machine, is ready at once.
use super::compiler::{Compiler, InstalledUnit};
use crate::code::job::{Compiled, Job};
use crate::code::program::Program;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

/// The tiers that run behaviours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// Native code, and the interpreter until it is ready.
    Native,
    /// The interpreter.
    Interpreter,
}

/// The figures of a machine's compiler.
#[derive(Clone, Copy, Debug)]
pub struct NativeInfo {
    /// The tier that runs behaviours.
    pub tier: Tier,
    /// Units that wait or are being compiled.
    pub pending: usize,
    /// Functions and behaviours that were compiled, and those that were refused: the interpreter runs these.
    pub compiled: usize,
    /// See `compiled`.
    pub refused: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Nanoseconds that compiling took, from the arrival of a unit on: all units together, and the longest.
    pub compile_ns: u64,
    /// See `compile_ns`.
    pub longest_compile_ns: u64,
}

/// The compiler of a machine, if it has one, and what waits for it.
pub(crate) struct CompilerThread {
    compiler: Option<&'static dyn Compiler>,
    state: Mutex<CompilerState>,
    quiet: Condvar,
}

struct CompilerState {
    waiting: VecDeque<(Job, Instant)>,
    running: bool,
    closed: bool,
    info: NativeInfo,
}

impl CompilerThread {
    pub(crate) fn new(compiler: Option<&'static dyn Compiler>) -> CompilerThread {
        let tier = match compiler {
            Some(_) => Tier::Native,
            None => Tier::Interpreter,
        };
        CompilerThread {
            compiler,
            state: Mutex::new(CompilerState {
                waiting: VecDeque::new(),
                running: false,
                closed: false,
                info: NativeInfo {
                    tier,
                    pending: 0,
                    compiled: 0,
                    refused: 0,
                    code_bytes: 0,
                    compile_ns: 0,
                    longest_compile_ns: 0,
                },
            }),
            quiet: Condvar::new(),
        }
    }

    pub(crate) fn info(&self) -> NativeInfo {
        self.state.lock().info
    }

    /// Has a unit compiled, soon.
    pub(crate) fn submit(self: &Arc<Self>, program: &Arc<Program>, job: Job) {
        let Some(compiler) = self.compiler else {
            return;
        };
        let since = Instant::now();
        if let Some(compiled) = compiler.at_hand(&installed(&job)) {
            let outcome = install(program, &job, Some(compiled));
            self.state.lock().info.count(outcome, since);
            return;
        }
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        state.waiting.push_back((job, since));
        state.info.pending += 1;
        if state.running {
            return;
        }
        let (own, program) = (self.clone(), program.clone());
        let thread = std::thread::Builder::new().name("mote-compile".to_string());
        // Without a thread all goes on as before, interpreted; the next unit tries again.
        state.running = thread.spawn(move || own.work(compiler, &program)).is_ok();
    }

    fn work(&self, compiler: &dyn Compiler, program: &Program) {
        let mut state = self.state.lock();
        while let Some((job, since)) = state.waiting.pop_front() {
            drop(state);
            let compiled = catch_unwind(AssertUnwindSafe(|| compiler.compile(&installed(&job))));
            let outcome = install(program, &job, compiled.ok().flatten());
            state = self.state.lock();
            state.info.pending -= 1;
            state.info.count(outcome, since);
        }
        state.running = false;
        drop(state);
        self.quiet.notify_all();
    }

    /// Waits until nothing waits to be compiled any more.
    pub(crate) fn wait(&self) {
        let mut state = self.state.lock();
        self.quiet.wait_while(&mut state, |state| state.running);
    }

    /// Compiles nothing more; waits for what is being compiled.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.info.pending -= state.waiting.len();
        state.waiting.clear();
        self.quiet.wait_while(&mut state, |state| state.running);
    }
}

/// The result for a unit: how many functions and behaviours were compiled, how many refused, and the bytes of their code.
struct CompileOutcome {
    compiled: usize,
    refused: usize,
    bytes: usize,
}

impl NativeInfo {
    fn count(&mut self, outcome: CompileOutcome, since: Instant) {
        let took = since.elapsed().as_nanos() as u64;
        self.compiled += outcome.compiled;
        self.refused += outcome.refused;
        self.code_bytes += outcome.bytes;
        self.compile_ns += took;
        self.longest_compile_ns = self.longest_compile_ns.max(took);
    }
}

/// Puts native code in place, if there is any.
fn install(program: &Program, job: &Job, compiled: Option<Compiled>) -> CompileOutcome {
    let codes = job.own.len() + job.ids.len();
    let (refused, bytes) = match &compiled {
        Some(compiled) => (compiled.refused, compiled.memory.bytes()),
        None => (codes, 0),
    };
    if let Some(compiled) = compiled {
        program.install_native(job, compiled);
    }
    CompileOutcome {
        compiled: codes - refused,
        refused,
        bytes,
    }
}

fn installed(job: &Job) -> InstalledUnit<'_> {
    InstalledUnit {
        bytes: &job.bytes,
        verified: &job.verified,
        // SAFETY: the program, which the caller holds, keeps the constants.
        constants: unsafe { &*job.constants },
        functions: &job.functions,
        behaviours: &job.behaviours,
    }
}
