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

t.test('a path is matched as it is', async t => {
  const routes = createRouteTable()
  routes.add(['GET'], '/v1/models')
  routes.add(['PUT'], '/v1/:name(^(?:files|fine-tunes)$)')
  routes.add(['POST'], '/v1/:name(^(?:files|fine-tunes)$)/*')
  routes.add(['GET'], '/health.json')
  for (const path of ['/v1/x/../models', '/v1/./models', '/v1/%2e/models', '/v1\\models', '/v1//models', '/v1/models/']) {
    t.strictSame(routes.methodsAt(path), [], path)
  }
  t.strictSame(routes.methodsAt('/v1/files'), ['PUT'])
  t.strictSame(routes.methodsAt('/v1/fine-tunes/a/b'), ['POST'])
  t.strictSame(routes.methodsAt('/v1/filesx'), [])
  t.strictSame(routes.methodsAt('/healthxjson'), [])
})
