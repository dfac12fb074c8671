// Layout of a topology: columns in the direction of the records, and a lane for each sub-topology.

const ALONG = { wide: 86, tall: 46 }; // gap between two columns
const ACROSS = 22; // gap between two boxes of a column
const PAD = 16;
const TITLE = 22;

const sizes = {
  topic: { height: 46 },
  step: { height: 38 },
  store: { height: 58 },
  repartition: { height: 46 },
  bend: { height: 12 },
};

function widthOf(node) {
  if (node.kind === "bend") return 12;
  const longest = Math.max(node.label.length * 7.6, node.kind === "topic" ? (node.detail ?? "").length * 6.4 : 0, node.kind === "store" ? 130 : 0);
  return Math.min(250, Math.max(96, longest + 32));
}

/** The length of the longest path to each node from a node without incoming arrows, by node. */
function depths(nodes, arrows) {
  const depth = new Map(nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < nodes.length; round += 1) {
    let moved = false;
    for (const arrow of arrows) {
      const least = depth.get(arrow.tail) + 1;
      if (depth.get(arrow.head) < least && least <= nodes.length) {
        depth.set(arrow.head, least);
        moved = true;
      }
    }
    if (!moved) break;
  }
  // A topic that is only read is placed one column before its first reader.
  for (const node of nodes) {
    const heads = arrows.filter((arrow) => arrow.tail === node.id).map((arrow) => depth.get(arrow.head));
    if (heads.length && !arrows.some((arrow) => arrow.head === node.id)) depth.set(node.id, Math.min(...heads) - 1);
  }
  return depth;
}

/** Bends of arrows that pass columns between two steps. A bend takes a place in its column, so that boxes leave room. */
function bendsOf(flows, depth, stages) {
  const bends = new Map(); // arrow -> its bends, in order
  for (const arrow of flows) {
    const stage = stages.get(arrow.tail);
    if (stage === undefined || stage !== stages.get(arrow.head)) continue;
    const passed = [];
    for (let column = depth.get(arrow.tail) + 1; column < depth.get(arrow.head); column += 1) {
      passed.push({ id: `bend ${arrow.tail} ${arrow.head} ${column}`, kind: "bend", label: "", stage, column });
    }
    if (passed.length) bends.set(arrow, passed);
  }
  return bends;
}

/** The arrows as pairs of nodes. An arrow with bends is split at each bend. */
const segments = (flows, bends) =>
  flows.flatMap((arrow) => {
    const stops = [arrow.tail, ...(bends.get(arrow) ?? []).map((bend) => bend.id), arrow.head];
    return stops.slice(1).map((head, at) => ({ tail: stops[at], head }));
  });

/** The layout: boxes {x, y, width, height} by node, the bends that arrows pass, the stages' frames, and the total size. */
export function layout(graph, tall) {
  const stored = new Map(); // store -> the step it is drawn next to
  for (const arrow of graph.arrows) {
    if (arrow.head.startsWith("store ") && !stored.has(arrow.head)) stored.set(arrow.head, arrow.tail);
  }
  const moving = graph.nodes.filter((node) => !stored.has(node.id));
  const flows = graph.arrows.filter((arrow) => !arrow.head.startsWith("store "));
  const depth = depths(moving, flows);
  const bends = bendsOf(flows, depth, new Map(moving.map((node) => [node.id, node.stage])));
  for (const bend of [...bends.values()].flat()) {
    moving.push(bend);
    depth.set(bend.id, bend.column);
  }
  const blocks = moving.map((node) => {
    const parts = [node, ...graph.nodes.filter((each) => stored.get(each.id) === node.id)].map((each) => ({
      node: each,
      width: widthOf(each),
      height: sizes[each.kind].height,
    }));
    const across = parts.reduce((sum, each) => sum + (tall ? each.width : each.height), 0) + (parts.length - 1) * 12;
    return { node, parts, depth: depth.get(node.id), across, along: Math.max(...parts.map((each) => (tall ? each.height : each.width))) };
  });
  const lanes = stageLanes(graph, blocks);
  placeAcross(blocks, lanes, segments(flows, bends));
  const found = placed(graph, blocks, tall);
  const passed = new Map([...bends].map(([arrow, stops]) => [arrow, stops.map((bend) => found.boxes.get(bend.id))]));
  for (const bend of [...bends.values()].flat()) found.boxes.delete(bend.id);
  return { ...found, passed };
}

// Stages that use the same columns get separate lanes. Other stages may share a lane.
function stageLanes(graph, blocks) {
  const taken = [];
  const lanes = new Map();
  for (const stage of graph.stages) {
    const mine = blocks.filter((block) => block.node.stage === stage.number);
    if (!mine.length) continue;
    const from = Math.min(...mine.map((block) => block.depth));
    const to = Math.max(...mine.map((block) => block.depth));
    let lane = taken.findIndex((spans) => spans.every((span) => span.to < from || span.from > to));
    if (lane < 0) lane = taken.push([]) - 1;
    taken[lane].push({ from, to });
    const columns = new Map();
    for (const block of mine) columns.set(block.depth, (columns.get(block.depth) ?? 0) + block.across + ACROSS);
    taken[lane].size = Math.max(taken[lane].size ?? 0, ...columns.values());
    lanes.set(stage.number, lane);
  }
  let offset = 0;
  const starts = taken.map((lane) => {
    const start = offset;
    offset += lane.size + 2 * PAD + TITLE;
    return { start, size: lane.size };
  });
  return new Map([...lanes].map(([stage, lane]) => [stage, starts[lane]]));
}

function placeAcross(blocks, lanes, flows) {
  const middle = (block) => block.at + block.parts[0].across0 + block.parts[0].half;
  for (const block of blocks) {
    const first = block.parts[0];
    first.across0 = 0;
    first.half = block.parts.length > 1 ? 19 : block.across / 2;
  }
  const byId = new Map(blocks.map((block) => [block.node.id, block]));
  const columns = grouped(blocks);
  const order = [...columns.keys()].sort((a, b) => a - b);
  const near = (block) => {
    const found = flows
      .flatMap((arrow) => (arrow.head === block.node.id ? [arrow.tail] : arrow.tail === block.node.id ? [arrow.head] : []))
      .map((id) => byId.get(id))
      .filter((each) => each.at !== undefined)
      .map(middle);
    return found.length ? found.reduce((a, b) => a + b, 0) / found.length : null;
  };
  // Steps first, within the lanes of their stages; then topics and repartitions next to the steps they are connected to.
  for (const column of order) {
    const steps = columns.get(column).filter((block) => block.node.stage !== undefined);
    for (const stage of new Set(steps.map((block) => block.node.stage))) {
      const mine = steps.filter((block) => block.node.stage === stage);
      mine.sort((a, b) => (near(a) ?? 0) - (near(b) ?? 0));
      const lane = lanes.get(stage);
      const needed = mine.reduce((sum, block) => sum + block.across + ACROSS, -ACROSS);
      let at = lane.start + (lane.size - needed) / 2;
      for (const block of mine) {
        block.at = at;
        at += block.across + ACROSS;
      }
    }
  }
  for (const column of order) {
    const others = columns.get(column).filter((block) => block.node.stage === undefined);
    const fixed = columns.get(column).filter((block) => block.node.stage !== undefined);
    for (const block of others) block.wanted = (near(block) ?? 0) - block.across / 2;
    others.sort((a, b) => a.wanted - b.wanted);
    // Overlapping boxes are pushed apart around their common middle.
    let end = -Infinity;
    for (const block of others) {
      block.at = Math.max(block.wanted, end);
      end = block.at + block.across + ACROSS;
    }
    const shift = others.length ? others.reduce((sum, block) => sum + (block.at - block.wanted), 0) / others.length : 0;
    for (const block of others) block.at -= shift;
    for (const block of others) {
      for (const other of fixed) {
        if (block.at < other.at + other.across + ACROSS && other.at < block.at + block.across + ACROSS) {
          block.at = Math.max(...fixed.map((each) => each.at + each.across)) + PAD + ACROSS;
        }
      }
    }
  }
}

function grouped(blocks) {
  const columns = new Map();
  for (const block of blocks) columns.set(block.depth, [...(columns.get(block.depth) ?? []), block]);
  return columns;
}

function placed(graph, blocks, tall) {
  const gap = tall ? ALONG.tall : ALONG.wide;
  const order = [...new Set(blocks.map((block) => block.depth))].sort((a, b) => a - b);
  const least = Math.min(...blocks.map((block) => block.at));
  const boxes = new Map();
  let along = PAD;
  for (const column of order) {
    const mine = blocks.filter((block) => block.depth === column);
    const wide = Math.max(...mine.map((block) => block.along));
    for (const block of mine) {
      let across = block.at - least + PAD + TITLE;
      for (const part of block.parts) {
        const own = part.node.kind === "bend" ? wide : tall ? part.height : part.width;
        const start = along + (wide - own) / 2;
        boxes.set(part.node.id, {
          node: part.node,
          x: tall ? across : start,
          y: tall ? start : across,
          width: part.node.kind === "bend" && !tall ? wide : part.width,
          height: part.node.kind === "bend" && tall ? wide : part.height,
        });
        across += (tall ? part.width : part.height) + 12;
      }
    }
    along += wide + gap;
  }
  const frames = graph.stages.flatMap((stage) => {
    const mine = [...boxes.values()].filter((box) => box.node.stage === stage.number);
    if (!mine.length) return [];
    const x = Math.min(...mine.map((box) => box.x)) - 12;
    const y = Math.min(...mine.map((box) => box.y)) - 12;
    return [{ stage, x, y, width: Math.max(...mine.map((box) => box.x + box.width)) - x + 12, height: Math.max(...mine.map((box) => box.y + box.height)) - y + 12 }];
  });
  const all = [...boxes.values(), ...frames];
  const width = Math.max(...all.map((box) => box.x + box.width)) + PAD;
  const height = Math.max(...all.map((box) => box.y + box.height)) + PAD;
  return { boxes, frames, width, height };
}
