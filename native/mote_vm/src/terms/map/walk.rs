//! The entries of a map in order.
use super::{Descent, Node};
use crate::base::work::Work;
use crate::values::value::Value;

/// Key and value of each entry, in the order of the keys.
pub(crate) fn entries(map: Node<'_>) -> impl Iterator<Item = (Value, Value)> + '_ {
    let mut walk = Walk {
        path: Descent::new(),
        leaf: map,
        at: 0,
    };
    walk.descend(map);
    walk
}

/// The entries whose keys come after `key`, which need not be one of them.
pub(crate) fn entries_after(
    map: Node<'_>,
    key: Value,
) -> impl Iterator<Item = (Value, Value)> + '_ {
    let mut walk = Walk {
        path: Descent::new(),
        leaf: map,
        at: 0,
    };
    while !walk.leaf.is_leaf() {
        let at = walk.leaf.last_up_to(key, &mut Work::free());
        walk.path.push(walk.leaf, at + 1);
        walk.leaf = walk.leaf.child(at);
    }
    walk.at = match walk.leaf.find(key, &mut Work::free()) {
        Ok(at) => at + 1,
        Err(before) => before,
    };
    walk
}

struct Walk<'h> {
    /// Above the leaf: each node with the child that comes next.
    path: Descent<'h>,
    leaf: Node<'h>,
    at: usize,
}

impl<'h> Walk<'h> {
    fn descend(&mut self, mut node: Node<'h>) {
        while !node.is_leaf() {
            self.path.push(node, 1);
            node = node.child(0);
        }
        self.leaf = node;
        self.at = 0;
    }
}

impl Iterator for Walk<'_> {
    type Item = (Value, Value);

    fn next(&mut self) -> Option<(Value, Value)> {
        while self.at == self.leaf.keys.len() {
            let (node, next) = self.path.pop()?;
            if next < node.keys.len() {
                self.path.push(node, next + 1);
                self.descend(node.child(next));
            }
        }
        let at = self.at;
        self.at += 1;
        Some((self.leaf.keys[at], self.leaf.items[at]))
    }
}
