/* The picture as a file, PNG or SVG, and on paper. */

const PICTURE_SCALE = 2; // pixels of the PNG for each of the screen

/** What Drawing uses of a canvas's context, written as SVG. `measure` is a real context, which knows widths of texts. */
class SvgContext {
  constructor(measure) {
    this._measure = measure;
    this._parts = [];
    this._path = "";
    this._dash = "";
    this._turns = [""];
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: LABEL_FONT, lineJoin: "miter", textAlign: "start", textBaseline: "alphabetic" });
  }

  /** The whole as a document of this size. */
  document(width, height) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n${this._parts.join("\n")}\n</svg>\n`;
  }

  beginPath() {
    this._path = "";
  }
  moveTo(x, y) {
    this._path += `M${round(x)} ${round(y)}`;
  }
  lineTo(x, y) {
    this._path += `L${round(x)} ${round(y)}`;
  }
  quadraticCurveTo(cx, cy, x, y) {
    this._path += `Q${round(cx)} ${round(cy)} ${round(x)} ${round(y)}`;
  }
  closePath() {
    this._path += "Z";
  }
  /** Drawing draws whole circles only. */
  arc(x, y, radius) {
    const size = round(radius);
    this._path += `M${round(x + radius)} ${round(y)}A${size} ${size} 0 1 1 ${round(x - radius)} ${round(y)}A${size} ${size} 0 1 1 ${round(x + radius)} ${round(y)}Z`;
  }
  setLineDash(dash) {
    this._dash = dash.length === 0 ? "" : ` stroke-dasharray="${dash.join(" ")}"`;
  }
  stroke() {
    if (this._path !== "") this._parts.push(`<path d="${this._path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this._dash}${this._shared()}/>`);
  }
  fill() {
    if (this._path !== "") this._parts.push(`<path d="${this._path}" fill="${this.fillStyle}"${this._shared()}/>`);
  }
  fillRect(x, y, width, height) {
    this._parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"${this._shared()}/>`);
  }
  measureText(text) {
    this._measure.font = this.font;
    return this._measure.measureText(text);
  }
  strokeText(text, x, y) {
    this._text(text, x, y, `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="round"`);
  }
  fillText(text, x, y) {
    this._text(text, x, y, `fill="${this.fillStyle}"`);
  }
  save() {
    this._turns.push(this._turns[this._turns.length - 1]);
  }
  restore() {
    this._turns.pop();
  }
  translate(x, y) {
    this._turns[this._turns.length - 1] += `translate(${round(x)} ${round(y)})`;
  }
  rotate(angle) {
    this._turns[this._turns.length - 1] += `rotate(${round((angle * 180) / Math.PI)})`;
  }

  _shared() {
    const turn = this._turns[this._turns.length - 1];
    return (this.globalAlpha < 1 ? ` opacity="${round(this.globalAlpha)}"` : "") + (turn === "" ? "" : ` transform="${turn}"`);
  }
  _text(text, x, y, how) {
    const [, weight, size, family] = /^(?:(\d+) )?(\d+)px (.*)$/.exec(this.font);
    const look = `font-family="${xml(family)}" font-size="${size}"${weight ? ` font-weight="${weight}"` : ""} text-anchor="middle" dominant-baseline="central"`;
    this._parts.push(`<text x="${round(x)}" y="${round(y)}" ${look} ${how}${this._shared()}>${xml(text)}</text>`);
  }
}

const round = (value) => Math.round(value * 100) / 100;

/** A text as XML holds it; what XML cannot hold is replaced. */
function xml(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (character) => entities[character]);
}

/** The graph as it is shown, as a file of `kind` "png" or "svg". */
async function pictureOf(graph, kind) {
  const { width, height } = graph.scene;
  const canvas = document.createElement("canvas");
  if (kind === "svg") {
    const context = new SvgContext(canvas.getContext("2d"));
    graph.drawOn(context);
    return new Blob([context.document(width, height)], { type: "image/svg+xml" });
  }
  Object.assign(canvas, { width: width * PICTURE_SCALE, height: height * PICTURE_SCALE });
  const context = canvas.getContext("2d");
  context.scale(PICTURE_SCALE, PICTURE_SCALE);
  graph.drawOn(context);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** Hand a file over to the person, under a name. */
function handOver(blob, name) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(blob);
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
