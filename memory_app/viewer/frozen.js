/* A page that was saved: nothing to ask, nothing to change. In a served page connection.js stands in this place. */

const connection = null;
