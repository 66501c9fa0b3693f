import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ownNode } from './own-node.js'

// The package with Node.js also has its headers for addons in C: 67 MB that nothing here compiles against.

const node = ownNode()
if (node !== null) rmSync(join(dirname(node), '..', 'include'), { recursive: true, force: true })
