//! The entries of a map in order.
use super::{Descent, Node};
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
