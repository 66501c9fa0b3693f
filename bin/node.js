import { handOver } from './own-node.js'

// `node bin/node.js [options] program [arguments]` runs a program in a Node that is new enough.

handOver(process.argv.slice(2))
