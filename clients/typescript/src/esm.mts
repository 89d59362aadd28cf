// What `import` gets: the same classes as `require`, so that instanceof holds in a program that uses both.

export * from "./index.js";
