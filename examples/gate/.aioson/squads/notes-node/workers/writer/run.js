// Draft release notes from a list of changes, breaking ones first.
"use strict";

const fs = require("node:fs");

const given = process.argv.length > 2 ? process.argv[2] : fs.readFileSync(0, "utf8");
const changes = JSON.parse(given).changes.filter((change) => change.source);
changes.sort((a, b) => Number(b.breaking) - Number(a.breaking));
const lines = changes.map((change) => `${change.text} (${change.source})`);
console.log(JSON.stringify({ lines }));
