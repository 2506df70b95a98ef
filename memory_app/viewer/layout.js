/* The force layout: nodes repel each other (Barnes and Hut's approximation), links pull, a weak pull keeps parts that are
   not connected in sight. What has no link at all stands in rows below the rest.
   Positions live in typed arrays over all nodes; only the shown ones take part.
   Deterministic: the same graph is laid out in the same way each time. */

const THETA_SQUARED = 0.81; // how coarse far groups are seen; the customary 0.9
const REPULSION = 260;
const GRAVITY = 0.05;
const LINK_LENGTH = 32; // between the rims of two nodes without further links
const LINK_GROWTH = 7; // more for a well-connected end: its other neighbours need the room
const SMALLEST_RADIUS = 4.5; // of a node without relations
const LARGEST_RADIUS = 21.5;
const MARGIN = 12; // kept free around a node
const FRICTION = 0.6;
const COOLING = 1 - Math.pow(0.001, 1 / 260); // about 260 steps from hot to still
const STILL = 0.002;
const MANY_LOOSE = 60;
const DEEPEST = 32; // nodes that are closer than this many halvings share a leaf

class Layout {
  constructor(radii) {
    const size = radii.length;
    this.radii = radii;
    this.x = new Float64Array(size);
    this.y = new Float64Array(size);
    this.placed = new Uint8Array(size);
    this.pinned = new Uint8Array(size);
    this.heat = 0;
    this.aspect = 1; // above 1 the picture becomes wider than high
    this.target = 0; // the heat it cools down to: above 0 while something is dragged
    this._vx = new Float64Array(size);
    this._vy = new Float64Array(size);
    this._degree = new Float64Array(size);
    this._give = new Float64Array(size).fill(1); // how far a node follows the forces
    this._next = new Int32Array(size);
    this._ids = []; // those with links
    this._loose = []; // those without
    this._links = [];
    this._cells = 0;
    this._grow(1024);
  }

  get moving() {
    return this.heat > STILL || this.target > 0;
  }

  /** Take part from now on: `ids`, and the links between them. New ones appear near a neighbour that has a place. */
  show(ids, links, heat) {
    this._links = links.filter((link) => link.from !== link.to);
    for (const id of ids) this._degree[id] = 0;
    for (const link of this._links) {
      this._degree[link.from] += 1;
      this._degree[link.to] += 1;
    }
    this._ids = ids.filter((id) => this._degree[id] > 0);
    this._loose = ids.filter((id) => this._degree[id] === 0);
    this._place();
    this._placeLoose();
    this.heat = Math.max(this.heat, this._ids.length > 0 ? heat : 0);
  }

  /** From now on what has a place gives way by this share only: 1 is freely, 0 not at all. What comes later is free. */
  hold(share) {
    for (let id = 0; id < this._give.length; id++) this._give[id] = this.placed[id] ? share : 1;
    this._held = share < 1;
  }

  /** Forget where nodes were. */
  clear() {
    this.placed.fill(0);
    this.pinned.fill(0);
    this.heat = 0;
  }

  /** One step. */
  step() {
    this.heat += (this.target - this.heat) * COOLING;
    if (this._ids.length === 0) return;
    this._pull();
    this._plant();
    for (const id of this._ids) this._push(id);
    for (const id of this._ids) {
      if (this.pinned[id]) {
        this._vx[id] = this._vy[id] = 0;
        continue;
      }
      this._vx[id] = (this._vx[id] - (this.x[id] * GRAVITY * this.heat) / this.aspect) * FRICTION;
      this._vy[id] = (this._vy[id] - this.y[id] * GRAVITY * this.heat * this.aspect) * FRICTION;
      this.x[id] += this._vx[id] * this._give[id];
      this.y[id] += this._vy[id] * this._give[id];
    }
    this._placeLoose();
  }

  /** The smallest box around some nodes. */
  bounds(ids) {
    const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    for (const id of ids) {
      box.left = Math.min(box.left, this.x[id]);
      box.right = Math.max(box.right, this.x[id]);
      box.top = Math.min(box.top, this.y[id]);
      box.bottom = Math.max(box.bottom, this.y[id]);
    }
    return box;
  }

  _placeLoose() {
    const loose = this._loose.filter((id) => !this.pinned[id] && !(this._held && this.placed[id]));
    if (loose.length === 0) return;
    const [stepX, stepY] = loose.length > MANY_LOOSE ? [70, 48] : [130, 56]; // few have room for their names
    const above = this._held ? [...this._ids, ...this._loose.filter((id) => this.placed[id])] : this._ids;
    const box = above.length > 0 ? this.bounds(above) : { left: 0, right: 0, top: 0, bottom: 0 };
    const square = Math.sqrt((loose.length * stepY) / stepX) * this.aspect;
    const columns = Math.max(1, Math.min(loose.length, Math.ceil(Math.max(square, (box.right - box.left) / stepX))));
    loose.forEach((id, index) => {
      const row = Math.floor(index / columns);
      const inRow = Math.min(columns, loose.length - row * columns);
      this.x[id] = (box.left + box.right) / 2 + ((index % columns) - (inRow - 1) / 2) * stepX;
      this.y[id] = box.bottom + 80 + row * stepY;
      this.placed[id] = 1;
    });
  }

  _place() {
    const near = new Map();
    for (const link of this._links) {
      if (this.placed[link.from] && !this.placed[link.to]) near.set(link.to, link.from);
      if (this.placed[link.to] && !this.placed[link.from]) near.set(link.from, link.to);
    }
    this._ids.forEach((id, index) => {
      if (this.placed[id]) return;
      const anchor = near.get(id);
      // A sunflower's spiral: even, and no two places alike.
      const angle = index * 2.399963;
      const radius = anchor === undefined ? 14 * Math.sqrt(index + 0.5) : LINK_LENGTH;
      this.x[id] = radius * Math.cos(angle) + (anchor === undefined ? 0 : this.x[anchor]);
      this.y[id] = radius * Math.sin(angle) + (anchor === undefined ? 0 : this.y[anchor]);
      this._vx[id] = this._vy[id] = 0;
    });
    for (const id of this._ids) this.placed[id] = 1;
  }

  _pull() {
    const { x, y, _vx: vx, _vy: vy, _degree: degree, radii } = this;
    for (const { from, to } of this._links) {
      const dx = x[to] + vx[to] - x[from] - vx[from] || 0.01;
      const dy = y[to] + vy[to] - y[from] - vy[from] || 0.01;
      const distance = Math.sqrt(dx * dx + dy * dy);
      const wanted = radii[from] + radii[to] + LINK_LENGTH + LINK_GROWTH * (Math.sqrt(degree[from]) + Math.sqrt(degree[to]) - 2);
      // A hub is not torn about by its many leaves: the end with fewer links gives way.
      const force = ((distance - wanted) / distance) * this.heat / Math.min(degree[from], degree[to]);
      const share = degree[from] / (degree[from] + degree[to]);
      vx[to] -= dx * force * share;
      vy[to] -= dy * force * share;
      vx[from] += dx * force * (1 - share);
      vy[from] += dy * force * (1 - share);
    }
  }

  /** Build the tree of cells, each with the weight and the centre of what is in it. */
  _plant() {
    const { left, right, top, bottom } = this.bounds(this._ids);
    this._cells = 0;
    this._cell((left + right) / 2, (top + bottom) / 2, Math.max(right - left, bottom - top, 1) / 2 + 1);
    for (const id of this._ids) this._insert(id);
    for (let cell = this._cells - 1; cell >= 0; cell--) this._weigh(cell);
  }

  _insert(id) {
    const { x, y } = this;
    for (let cell = 0, depth = 0; ; depth++) {
      if (this._leaf[cell]) {
        const other = this._body[cell];
        if (other < 0 || depth >= DEEPEST) {
          this._next[id] = other;
          this._body[cell] = id;
          return;
        }
        this._leaf[cell] = 0;
        this._body[cell] = -1;
        const child = this._child(cell, x[other], y[other]);
        this._body[child] = other;
      }
      cell = this._child(cell, x[id], y[id]);
    }
  }

  /** The quarter of a cell in which a point lies; made if there is none. */
  _child(cell, px, py) {
    const east = px >= this._midX[cell];
    const south = py >= this._midY[cell];
    const place = 4 * cell + (east ? 1 : 0) + (south ? 2 : 0);
    if (this._children[place] === 0) {
      const half = this._half[cell] / 2;
      const made = this._cell(this._midX[cell] + (east ? half : -half), this._midY[cell] + (south ? half : -half), half);
      this._children[place] = made; // after _cell: it may have moved the arrays
    }
    return this._children[place];
  }

  _cell(midX, midY, half) {
    if (this._cells === this._body.length) this._grow(2 * this._cells);
    const cell = this._cells++;
    this._midX[cell] = midX;
    this._midY[cell] = midY;
    this._half[cell] = half;
    this._leaf[cell] = 1;
    this._body[cell] = -1;
    this._children.fill(0, 4 * cell, 4 * cell + 4);
    return cell;
  }

  _weigh(cell) {
    let [weight, sumX, sumY] = [0, 0, 0];
    if (this._leaf[cell]) {
      for (let id = this._body[cell]; id >= 0; id = this._next[id]) {
        weight += 1;
        sumX += this.x[id];
        sumY += this.y[id];
      }
    } else {
      for (let place = 4 * cell; place < 4 * cell + 4; place++) {
        const child = this._children[place]; // made later than its parent, so weighed already
        if (child === 0) continue;
        weight += this._weight[child];
        sumX += this._centreX[child] * this._weight[child];
        sumY += this._centreY[child] * this._weight[child];
      }
    }
    this._weight[cell] = weight;
    this._centreX[cell] = weight === 0 ? 0 : sumX / weight;
    this._centreY[cell] = weight === 0 ? 0 : sumY / weight;
  }

  _push(id) {
    const [px, py] = [this.x[id], this.y[id]];
    const stack = this._stack;
    let [forceX, forceY, top] = [0, 0, 0];
    stack[top++] = 0;
    while (top > 0) {
      const cell = stack[--top];
      const dx = px - this._centreX[cell];
      const dy = py - this._centreY[cell];
      const squared = dx * dx + dy * dy;
      const side = 2 * this._half[cell];
      if (!this._leaf[cell] && side * side < THETA_SQUARED * squared) {
        const force = (REPULSION * this._weight[cell] * this.heat) / squared;
        forceX += dx * force;
        forceY += dy * force;
      } else if (!this._leaf[cell]) {
        for (let place = 4 * cell; place < 4 * cell + 4; place++) {
          if (this._children[place] !== 0) stack[top++] = this._children[place];
        }
      } else {
        for (let other = this._body[cell]; other >= 0; other = this._next[other]) {
          if (other === id) continue;
          // Two nodes on one point part by their ids.
          const ox = px - this.x[other] || (id - other) * 1e-3;
          const oy = py - this.y[other] || (other - id) * 1e-3;
          const apart = ox * ox + oy * oy;
          const force = (REPULSION * this.heat) / Math.max(apart, 25);
          const room = this.radii[id] + this.radii[other] + MARGIN;
          const distance = Math.sqrt(apart);
          const overlap = distance < room ? ((room - distance) / distance) * 0.4 : 0;
          forceX += ox * (force + overlap);
          forceY += oy * (force + overlap);
        }
      }
    }
    this._vx[id] += forceX;
    this._vy[id] += forceY;
  }

  _grow(size) {
    const grown = (Kind, old, factor = 1) => {
      const made = new Kind(size * factor);
      if (old) made.set(old);
      return made;
    };
    this._midX = grown(Float64Array, this._midX);
    this._midY = grown(Float64Array, this._midY);
    this._half = grown(Float64Array, this._half);
    this._weight = grown(Float64Array, this._weight);
    this._centreX = grown(Float64Array, this._centreX);
    this._centreY = grown(Float64Array, this._centreY);
    this._leaf = grown(Uint8Array, this._leaf);
    this._body = grown(Int32Array, this._body);
    this._children = grown(Int32Array, this._children, 4);
    this._stack = new Int32Array(4 * DEEPEST + 16);
  }
}
