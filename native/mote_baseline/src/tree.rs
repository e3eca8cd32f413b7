//! The tree of the fork bomb without actors: what is left of it when the calls are Rust's own.
use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;

/// A receiver of the news that a subtree is done.
trait Customer {
    fn done(&self);
}

/// The state of an inner node: waits for both subtrees, then notifies its parent.
struct Collect {
    parent: Rc<dyn Customer>,
    waits_for: Cell<u32>,
}

impl Customer for Collect {
    fn done(&self) {
        let left = self.waits_for.get() - 1;
        self.waits_for.set(left);
        if left == 0 {
            self.parent.done();
        }
    }
}

/// The outside: knows when all is done.
struct Root(Cell<bool>);

impl Customer for Root {
    fn done(&self) {
        self.0.set(true);
    }
}

type Node<'a> = Box<dyn FnOnce(u32) + 'a>;

fn node<'a>(made: &'a Cell<u64>, parent: Rc<dyn Customer>) -> Node<'a> {
    made.set(made.get() + 1);
    Box::new(move |depth| {
        if depth == 0 {
            return parent.done();
        }
        let waits_for = Cell::new(2);
        let collect: Rc<dyn Customer> = Rc::new(Collect { parent, waits_for });
        let left = node(made, collect.clone());
        let right = node(made, collect);
        left(depth - 1);
        right(depth - 1);
    })
}

/// Builds the tree with continuations and returns the number of its nodes. Every node is a closure in a box, which gets its depth as a
/// message. Whatever waits for a subtree is an object that is notified.
pub fn continuations(depth: u32) -> u64 {
    let made = Cell::new(0);
    let root = Rc::new(Root(Cell::new(false)));
    black_box(node(&made, root.clone()))(depth);
    if root.0.get() {
        made.get()
    } else {
        0
    }
}

/// Builds the tree with calls that return, and returns the number of its nodes.
pub fn recursion(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    // Both calls would be made one, as they are the same.
    let left = recursion(black_box(depth - 1));
    1 + left + recursion(black_box(depth - 1))
}
