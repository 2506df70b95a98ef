/* Marks where a query matched, in text that is shown. */

/** The words to mark for a query: the whole of it where it occurs, else each word. Folded. */
function wordsOf(query) {
  const whole = fold(query).trim();
  return whole === "" ? [] : [whole, ...whole.split(/\s+/).filter((word) => word !== whole)];
}

/** Where the words occur in a text: [start, end] pairs in order, without overlaps. The first word that occurs at all
    decides: the words of a query are marked one by one only where its whole does not stand. */
function matchesIn(text, words) {
  if (words.length === 0) return [];
  const { folded, places } = foldedWithPlaces(text);
  const [whole, ...parts] = words;
  const spans = occurrences(folded, whole);
  if (spans.length === 0) for (const word of parts) spans.push(...occurrences(folded, word));
  spans.sort((a, b) => a[0] - b[0]);
  const found = [];
  for (const [start, end] of spans) {
    const [from, to] = [places[start], places[end]];
    const last = found[found.length - 1];
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else if (to > from) found.push([from, to]);
  }
  return found;
}

function occurrences(folded, word) {
  const found = [];
  for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + word.length)) found.push([at, at + word.length]);
  return found;
}

/** A text folded character by character, and for each place in it the place in the text. An accent that is dropped
    belongs to the letter before it. */
function foldedWithPlaces(text) {
  let [folded, at] = ["", 0];
  const places = [];
  for (const character of text) {
    const part = fold(character);
    for (let index = 0; index < part.length; index++) places.push(at);
    folded += part;
    at += character.length;
  }
  places.push(at);
  return { folded, places };
}

/** A text as nodes, with what matches marked. */
function marked(text, words) {
  const shown = shownText(text);
  const pieces = [];
  let at = 0;
  for (const [start, end] of matchesIn(shown, words)) {
    pieces.push(shown.slice(at, start), element("mark", { text: shown.slice(start, end) }));
    at = end;
  }
  return [...pieces, shown.slice(at)].filter((piece) => piece !== "");
}
