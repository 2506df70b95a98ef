// Loaded into the npm server before its own code: each file that it writes stays empty for 30 ms, as on a slow disk.
const { promises } = require("node:fs");
const { setTimeout: pause } = require("node:timers/promises");

promises.writeFile = async (path, data) => {
  const file = await promises.open(path, "w");
  try {
    await pause(30);
    await file.writeFile(data);
  } finally {
    await file.close();
  }
};
