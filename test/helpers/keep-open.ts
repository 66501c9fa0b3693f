import type { ServerOptions } from 'node:http'

/**
 * Options of a server that never closes an idle connection: on a busy machine it might close one in the turn
 * in which the pool of a client takes it for the next request.
 */
export const keepOpen: ServerOptions = { keepAliveTimeout: 0, requestTimeout: 0 }
