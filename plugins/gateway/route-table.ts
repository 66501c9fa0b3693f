import fp from 'fastify-plugin'
import { createRouteTable, type RouteTable } from '../../services/http/route-table.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods of every route, by its path below the gateway's prefix; see routes/unserved.ts. */
    routeTable: RouteTable
  }
}

/** Registered before all routes, to see each. Ignores the route `OPTIONS *` of CORS, which serves no path. */
export default fp(async app => {
  const table = createRouteTable()
  app.decorate('routeTable', table)
  app.addHook('onRoute', ({ method, url }) => {
    const path = url.slice(app.prefix.length)
    if (path !== '*') table.add([method].flat(), path)
  })
}, { name: 'route-table' })
