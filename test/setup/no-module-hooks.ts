import module, { syncBuiltinESMExports } from 'node:module'

// Loaded before tap, which hooks into the loading of each module for `t.mockImport`, which no test uses, and
// for `tap --changed` and its own coverage. That takes a quarter of the time to load the files of a process.

module.registerHooks = () => ({ deregister () {} })
syncBuiltinESMExports()
