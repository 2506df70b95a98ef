/* Pieces of a large picture that does not change, painted once and put side by side while the camera moves.

   Twenty thousand dots take a software rasteriser a tenth of a second; the tiles that hold them take a few milliseconds.
   Tiles are in the scale at which they were painted. While the scale changes the old ones are stretched, so that zooming
   is smooth, and they are painted sharp when it rests. */

const TILE = 384; // CSS pixels: one that comes into sight while panning costs a part of a frame
const MOST_TILES = 60; // about 35 MB at one pixel a point
const MOST_STRETCHED = 2; // how far old tiles are stretched or shrunk before new ones are painted
const RESTED = 120; // milliseconds without a change of scale after which they are painted sharp

class Tiles {
  constructor() {
    this._made = new Map();
    this._scale = 0;
    this._wanted = 0;
    this._since = 0;
    this._of = null;
  }

  clear() {
    this._made.clear();
  }

  /** Whether what was drawn last is stretched: it has to be drawn once more when the camera rests. */
  get stretched() {
    return this._scale !== this._wanted;
  }

  /** Draw what is in sight. `paint(context, camera, width, height)` paints a piece. */
  draw(context, scene, paint) {
    const { scale, x, y } = scene.camera;
    const ratio = window.devicePixelRatio || 1;
    // Other nodes, places or pixels: nothing of what was painted holds.
    const of = [scene.ids, scene.layout, scene.overview, ratio];
    if (this._of === null || of.some((one, at) => one !== this._of[at])) this.clear();
    this._of = of;
    const now = performance.now();
    if (scale !== this._wanted) [this._wanted, this._since] = [scale, now];
    const far = Math.max(scale / this._scale, this._scale / scale) > MOST_STRETCHED;
    if (scale !== this._scale && (this._made.size === 0 || far || reducedMotion.matches || now - this._since >= RESTED)) {
      this.clear();
      this._scale = scale;
    }
    const size = (TILE * scale) / this._scale;
    const [first, last] = [[-x, -y], [scene.width - x, scene.height - y]].map((corner) => corner.map((at) => Math.floor(at / size)));
    for (let row = first[1]; row <= last[1]; row++) {
      for (let column = first[0]; column <= last[0]; column++) {
        const tile = this._tile(column, row, ratio, paint);
        // On whole pixels, or the tiles would have seams.
        const [left, top] = [Math.round((column * size + x) * ratio) / ratio, Math.round((row * size + y) * ratio) / ratio];
        const [right, bottom] = [Math.round(((column + 1) * size + x) * ratio) / ratio, Math.round(((row + 1) * size + y) * ratio) / ratio];
        context.drawImage(tile, left, top, right - left, bottom - top);
      }
    }
  }

  _tile(column, row, ratio, paint) {
    const key = `${column} ${row}`;
    const known = this._made.get(key);
    if (known !== undefined) return known;
    if (this._made.size >= MOST_TILES) this._made.delete(this._made.keys().next().value); // the oldest
    const made = element("canvas", {});
    made.width = made.height = Math.ceil(TILE * ratio);
    const context = made.getContext("2d");
    context.setTransform(made.width / TILE, 0, 0, made.height / TILE, 0, 0);
    paint(context, { scale: this._scale, x: -column * TILE, y: -row * TILE }, TILE, TILE);
    this._made.set(key, made);
    return made;
  }
}
