import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

// Loaded before tap, which follows every promise with async hooks to find the test of an uncaught error. That
// takes up to a third of the time of a run. Without it, an uncaught error ends its process, and so its tests
// fail all the same.

const none: asyncHooks.AsyncHook = { enable: () => none, disable: () => none }
asyncHooks.createHook = () => none
syncBuiltinESMExports()
