import api from 'undici/lib/api/index.js'
import buildConnector from 'undici/lib/core/connect.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import decompress from 'undici/lib/interceptor/decompress.js'

// Stands for undici in the bundle: its own modules without those for `fetch`, WebSocket, mocks and caches,
// which take longer to load than all others. bin/bundle.ts fails if the program imports anything else.

// As undici/index.js does.
Object.assign(Dispatcher.prototype, api)

export { Agent, Pool, buildConnector }
export const interceptors = { decompress }
