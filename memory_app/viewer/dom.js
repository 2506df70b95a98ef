/* Elements. The one way this page makes markup: attributes are set one by one and all text goes in as text. */

const byId = (id) => document.getElementById(id);

/** An element: `attributes` may hold `text`, and `onclick` and the like as functions. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** The coloured sign of an entity type. */
function swatch(type) {
  const made = element("span", { class: `swatch shape-${type.shape}`, "aria-hidden": "true" });
  made.style.setProperty("--swatch", `var(${type.colour})`); // by the CSSOM: the policy forbids style attributes
  return made;
}

const number = new Intl.NumberFormat("en");
const count = (amount, one, many) => `${number.format(amount)} ${amount === 1 ? one : many}`;

/** A text as it can be shown. An override of the writing direction is shown by its number: it would turn round what
    follows it. Other marks of direction stay; each text is isolated by its element. */
const shownPart = (text) => text.replace(/[\u202d\u202e]/g, (mark) => `[U+${mark.codePointAt(0).toString(16).toUpperCase()}]`);

/** What to show for a text that may be empty. */
const shownText = (text) => (text.trim() === "" ? "(no text)" : shownPart(text));

const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
