import t from 'tap'
import { createRouteTable } from '../../../services/http/route-table.ts'

t.test('a path has the methods of every pattern it matches', async t => {
  const routes = createRouteTable()
  routes.add(['GET', 'HEAD'], '/v1/models')
  routes.add(['GET'], '/v1/models/*')
  routes.add(['DELETE'], '/v1/models/:id')
  t.strictSame(routes.methodsAt('/v1/models'), ['GET', 'HEAD'])
  t.strictSame(routes.methodsAt('/v1/models/gpt-5'), ['DELETE', 'GET'])
  t.strictSame(routes.methodsAt('/v1/models/openai/gpt-5'), ['GET'])
  t.strictSame(routes.methodsAt('/v1/model'), [])
  t.strictSame(routes.methodsAt('//'), [])
})
