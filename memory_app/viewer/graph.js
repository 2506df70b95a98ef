/* The graph view: which nodes are drawn, and when. The camera is in camera.js; mouse, touch and keys are in controls.js.

   A memory that fits is drawn whole. A larger one is shown as an overview of its groups, and as a neighbourhood that grows
   on request: the links of twenty thousand entities at once are a ball of hair, a hundred around the one in question are
   an answer. */

const WHOLE_UP_TO = 2500; // nodes
const SPARSE = 2.5; // links for each node; more of them hide what they link
const FEW_LINKS = 600; // no matter how dense
const START_SIZE = 120; // nodes of a neighbourhood
const STEP_SIZE = 24; // nodes that come in with one expansion
const MORE_SIZE = 100;
const GLOW_SECONDS = 2.5;
const MOST_AROUND = 400; // nodes that "steps" and "all relations of a type" light
const UPRIGHT = 1.9; // on a phone gravity is weak against links: more of it, or the picture becomes round
const FRAME_BUDGET = 12; // milliseconds of layout in a frame
const HIT_MARGIN = 5;
const GIVES_WAY = 0.12; // how far what is there moves for what comes in, of what it would move by itself

class Graph {
  /** `on`: choose(id, options), open(id), status(how many nodes are visible). */
  constructor(canvas, model, layout, on) {
    this.canvas = canvas;
    this.model = model;
    this.layout = layout;
    this.on = on;
    this.drawing = new Drawing(canvas, model);
    this.canBeWhole = model.nodes.length <= WHOLE_UP_TO;
    this.whole = this.canBeWhole && model.links.length <= Math.max(FEW_LINKS, SPARSE * model.nodes.length);
    this.root = -1;
    this._shown = new Uint8Array(model.nodes.length);
    this._isOff = () => false;
    this._isTypeOff = () => false; // of relations
    this._camera = { scale: 1, x: 0, y: 0 };
    this._goal = null; // where the camera travels to
    this._following = true; // the camera keeps its aim in view, until it is touched
    this._aimed = -1; // a node, or -1 for everything
    this._fitted = null; // some nodes instead of everything
    this._waiting = 0;
    this._pointers = new Map();
    this._gesture = null;
    this.scene = {
      model, layout, ids: [], links: [], camera: this._camera, width: 0, height: 0, chosen: -1, hovered: -1, matches: null,
      trail: null, glow: null, overview: null,
      isDrawn: (link) => this._isDrawn(link),
      hidden: (id) => this.hiddenNeighbours(id),
      isVisible: (id) => this.isVisible(id),
      names: (link) => [...new Set(link.relations.filter((one) => !this._isTypeOff(one.kind)).map((one) => shownText(one.type)))],
    };
    new ResizeObserver(() => this._resize()).observe(canvas);
    this._listen();
    this._resize();
  }

  /** Go on with another model and its layout. `was(id)` is what a node's id was before, or -1. What was there stays where
      it was; of what is new, all is shown that belongs to what is shown. */
  adopt(model, layout, was) {
    const [before, shown] = [this.layout, new Uint8Array(model.nodes.length)];
    for (const node of model.nodes) {
      const old = was(node.id);
      if (old < 0 || !before.placed[old]) continue;
      layout.x[node.id] = before.x[old];
      layout.y[node.id] = before.y[old];
      layout.placed[node.id] = 1;
      layout.pinned[node.id] = before.pinned[old];
      shown[node.id] = this._shown[old];
    }
    layout.aspect = before.aspect;
    if (this.scene.overview !== null) this._adoptOverview(model, layout, was);
    else this._places = undefined;
    const now = new Map(model.nodes.map((node) => [was(node.id), node.id]));
    const id = (old) => (old < 0 ? -1 : now.get(old) ?? -1);
    Object.assign(this, { model, layout, root: id(this.root), _aimed: id(this._aimed), _shown: this.scene.overview === null ? shown : shown.fill(1), _tour: undefined, _fitted: null, _following: false });
    Object.assign(this.scene, { model, layout, chosen: id(this.scene.chosen), hovered: -1, trail: null, matches: null });
    this.drawing.replace(model);
    this._goal = null;
    this.canBeWhole = model.nodes.length <= WHOLE_UP_TO;
    this.whole = this.whole && this.canBeWhole;
    if (this.scene.overview !== null) {
      this._collect();
      this._report();
      this.draw();
      return;
    }
    const empty = this._shownCount === 0;
    const wanted = model.nodes.filter((node) => !shown[node.id] && (this.whole || empty || (was(node.id) < 0 && model.neighbours(node.id).some((other) => shown[other]))));
    layout.hold(0);
    this._add(wanted.map((node) => node.id), wanted.length > 0 ? 0.5 : 0);
  }

  /** In the overview what is new stands beside a neighbour, else in the middle; it gets its own place with the next one. */
  _adoptOverview(model, layout, was) {
    for (const node of model.nodes) {
      if (was(node.id) >= 0) continue;
      const beside = model.neighbours(node.id).find((other) => was(other) >= 0);
      layout.x[node.id] = (beside === undefined ? 0 : layout.x[beside]) + NODE_SPACING * Math.cos(node.id);
      layout.y[node.id] = (beside === undefined ? 0 : layout.y[beside]) + NODE_SPACING * Math.sin(node.id);
      layout.placed[node.id] = 1;
    }
    this._places = layout;
    this._detail = { layout: new Layout(layout.radii), shown: new Uint8Array(model.nodes.length) };
  }

  /** Light some nodes for a moment: they are new. */
  glow(ids) {
    const end = performance.now() + 1000 * GLOW_SECONDS;
    this.scene.glow = { ids, end };
    const next = () => {
      if (this.scene.glow?.end !== end) return;
      if (performance.now() >= end) this.scene.glow = null;
      else setTimeout(next, 100);
      this.draw();
    };
    next();
  }

  isVisible(id) {
    return this._shown[id] === 1 && !this._isOff(id);
  }

  /** Show all entities in their groups. */
  showOverview() {
    if (this._places === undefined) {
      this._places = new Layout(this.layout.radii);
      this._overview = makeOverview(this.model, this._places, this._aspect());
    }
    if (this.scene.overview === null) this._detail = { layout: this.layout, shown: this._shown };
    this.layout = this.scene.layout = this._places;
    this.scene.overview = this._overview;
    this._shown = new Uint8Array(this.model.nodes.length).fill(1);
    this._fitted = null;
    this._links = [];
    this._collect();
    this.fit();
    Object.assign(this._camera, this._fitting());
    this._report();
  }

  _leaveOverview() {
    if (this.scene.overview === null) return;
    this.layout = this.scene.layout = this._detail.layout;
    this._shown = this._detail.shown;
    this.scene.overview = null;
  }

  _isDrawn(link) {
    return this.isVisible(link.from) && this.isVisible(link.to) && link.relations.some((one) => !this._isTypeOff(one.kind));
  }

  /** How many neighbours of a node could be drawn and are not. */
  hiddenNeighbours(id) {
    if (this.whole || this.scene.overview !== null) return 0;
    let hidden = 0;
    for (const other of this.model.neighbours(id)) if (!this._shown[other] && !this._isOff(other)) hidden += 1;
    return hidden;
  }

  /** Show the whole graph, or the neighbourhood of `id` in a large one. */
  focus(id) {
    this._leaveOverview();
    const all = this.model.byDegree;
    this.root = this.whole ? -1 : id >= 0 && !this._isOff(id) ? id : all.find((other) => !this._isOff(other)) ?? -1;
    let ids = all;
    if (!this.whole) {
      ids = this.root < 0 ? [] : this.model.neighbourhood(this.root, START_SIZE, (other) => !this._isOff(other));
      // A lonely root tells little: fill up with the best connected of what the filter leaves.
      if (ids.length < 12 && id < 0) ids = [...new Set([...ids, ...all.filter((other) => !this._isOff(other)).slice(0, START_SIZE)])];
    }
    this.layout.clear();
    this.layout.hold(1);
    this._fitted = null;
    this._shown.fill(0);
    this._following = true;
    this._aimed = -1;
    this.layout.aspect = this._aspect() ** (this._aspect() < 1 ? UPRIGHT : 1);
    this._add(ids, 1);
  }

  /** Show the whole graph, dense as it may be. */
  showAll() {
    this.whole = true;
    this.focus(-1);
  }

  /** Bring in the hidden neighbours of a node, the best connected first. */
  expand(id) {
    const hidden = this.model.neighbours(id).filter((other) => !this._shown[other] && !this._isOff(other));
    this._bringIn(hidden.slice(0, STEP_SIZE));
    return Math.min(hidden.length, STEP_SIZE);
  }

  /** Show some nodes too. What is there already gives way a little, so that one still finds it. */
  _bringIn(ids) {
    const hidden = ids.filter((id) => !this._shown[id]);
    if (hidden.length === 0) return;
    this.layout.hold(GIVES_WAY);
    this._add(hidden, 0.5);
  }

  /** Lead the eye along some nodes and links, which are shown if they were not; null ends that. */
  follow(trail) {
    this.scene.trail = trail;
    if (trail !== null) {
      if (![...trail.nodes].some((id) => this._shown[id])) this.focus([...trail.nodes][0]);
      this._bringIn([...trail.nodes]);
    }
    this.draw();
  }

  /** The picture as it is shown, drawn on another context. */
  drawOn(context) {
    this.drawing.drawOn(context, this.scene);
  }

  /** Grow the neighbourhood at its best-connected edge. */
  showMore() {
    const border = new Set();
    for (const id of this._ids()) for (const other of this.model.neighbours(id)) if (!this._shown[other] && !this._isOff(other)) border.add(other);
    const source = border.size > 0 ? [...border] : this.model.byDegree.filter((id) => !this._shown[id] && !this._isOff(id));
    this._fitted = null;
    source.sort((a, b) => this.model.nodes[b].degree - this.model.nodes[a].degree || a - b);
    this._following = true;
    this._aimed = -1;
    this.layout.hold(GIVES_WAY);
    this._add(source.slice(0, MORE_SIZE), 0.6);
  }

  /** Put an entity into the middle of attention; it is made visible if it was not. */
  choose(id) {
    this.scene.chosen = id;
    if (id >= 0 && !this._shown[id]) this.focus(id);
    this._report();
    this.draw();
  }

  setMatches(matches) {
    this.scene.matches = matches;
    this.draw();
  }

  /** `isOff(id)`: whether the legend hides a node; `isTypeOff(type)`: a type of relations. */
  setFilter(isOff, isTypeOff) {
    this._isOff = isOff;
    this._isTypeOff = isTypeOff;
    if (this.whole || this.scene.overview !== null) this._collect();
    else this.focus(this.root >= 0 && !isOff(this.root) && this.scene.chosen >= 0 ? this.root : -1);
    this._report();
    this.draw();
  }

  /** Take the colours anew; `now`: draw at once, not with the next frame. */
  recolour(now = false) {
    this.drawing.readColours();
    if (now) this.drawing.draw(this.scene);
    else this.draw();
  }

  /** Draw with the next frame. */
  draw() {
    if (this._waiting !== 0) return;
    this.canvas.dataset.state = "moving"; // for who waits until the picture stands still
    this._waiting = requestAnimationFrame(() => this._frame());
  }

  _ids() {
    return this.model.byDegree.filter((id) => this._shown[id]);
  }

  _add(ids, heat) {
    for (const id of ids) this._shown[id] = 1;
    const shown = this._ids();
    const links = new Set();
    for (const id of shown) for (const link of this.model.nodes[id].links) if (this._shown[link.from] && this._shown[link.to]) links.add(link);
    this._links = [...links];
    this._shownCount = shown.length;
    this.layout.show(shown, this._links, heat);
    this._collect();
    // A first part of the way unseen, so that nobody watches a spiral unfold; all of it for who does not want motion.
    const end = performance.now() + (reducedMotion.matches ? 4000 : 180);
    while (this.layout.moving && heat === 1 && performance.now() < end) this.layout.step();
    if (heat === 1) Object.assign(this._camera, this._fitting());
    this._report();
    this.draw();
  }

  _collect() {
    this.scene.ids = this._ids().filter((id) => !this._isOff(id));
    this.scene.links = (this._links ?? []).filter(
      (link) => !this._isOff(link.from) && !this._isOff(link.to) && link.relations.some((one) => !this._isTypeOff(one.kind)),
    );
  }

  _report() {
    this.on.status(this.scene.ids.length);
  }

  _frame() {
    this._waiting = 0;
    if (this.scene.width === 0) return;
    const end = performance.now() + (reducedMotion.matches ? 60 : FRAME_BUDGET);
    let steps = 0;
    // Small graphs would be still in a blink; a few steps a frame let the eye follow.
    while (this.layout.moving && performance.now() < end && (reducedMotion.matches || steps < 4)) {
      this.layout.step();
      steps += 1;
    }
    if (this._following && steps > 0) this._goal = this._aim();
    if (this._goal !== null) this._moveCamera();
    if (!(reducedMotion.matches && this.layout.moving)) this.drawing.draw(this.scene);
    if (this.layout.moving || this._goal !== null || this.drawing.rough) this.draw();
    else this.canvas.dataset.state = "still";
  }
}
