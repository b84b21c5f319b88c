//! Cycles of a graph.

use std::collections::{BTreeMap, BTreeSet};

/// What uses what.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The largest sets of nodes that all lead to each other, each with more than one node.
pub(crate) fn find_cycles(graph: &Graph) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|node| (node, reachable(graph, node))).collect();
    let cycle = |node: &String| -> BTreeSet<String> {
        let both = reached[node].iter().filter(|other| reached[**other].contains(node));
        both.map(|other| (*other).clone()).collect()
    };
    graph.keys().map(cycle).filter(|cycle| cycle.len() > 1).collect()
}

fn reachable<'g>(graph: &'g Graph, from: &String) -> BTreeSet<&'g String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = graph[from].iter().collect();
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(&graph[node]);
        }
    }
    reached
}

#[test]
fn nodes_that_lead_to_each_other_are_one_cycle() {
    let edges = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "e")];
    let mut graph: Graph = ["a", "b", "c", "d", "e"].map(|node| (node.to_owned(), BTreeSet::new())).into();
    for (from, to) in edges {
        graph.get_mut(from).expect("is a node").insert(to.to_owned());
    }
    let expected = BTreeSet::from(["b", "c"].map(str::to_owned));
    assert_eq!(find_cycles(&graph), BTreeSet::from([expected]));
}
