import { envDetector } from '@opentelemetry/resources'
import t from 'tap'
import { createResource, readResourceAttributes } from '../../../../services/operations/observability/tracing/resource.ts'

const texts = [
  'key=value', 'a=1,b=2', ' a = 1 , b = 2 ', 'a=1,a=2', 'a=1,', ',a=1', '', ' ', 'a=',
  'service.name=checkout,deployment.environment.name=prod', 'team=a%2Cb%3Dc%20%25', 'a%3Db=1', 'name=Zo%C3%AB', 'name=Zoë',
  'a b=c d', 'a=b=c', 'a', '=b', 'a=%', 'a=%zz', 'a=%C3', 'a=1,b', 'a=1;p=2', 'a="1"'
]

t.test('resource attributes are read as the official library reads them', async t => {
  const { OTEL_RESOURCE_ATTRIBUTES: before } = process.env
  t.teardown(() => {
    if (before === undefined) delete process.env['OTEL_RESOURCE_ATTRIBUTES']
    else process.env['OTEL_RESOURCE_ATTRIBUTES'] = before
  })
  let refused = 0
  for (const text of texts) {
    process.env['OTEL_RESOURCE_ATTRIBUTES'] = text
    const { 'service.name': name, ...rest } = envDetector.detect().attributes ?? {}
    const expected = name === undefined || !text.includes('service.name') ? rest : { ...rest, 'service.name': name }
    try {
      t.same(readResourceAttributes(text), expected, `'${text}'`)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      refused++
      t.same(expected, {}, `'${text}' is refused by both`)
    }
  }
  t.equal(refused, 8)
})

t.test('the name of the service wins over the attributes, and both over the default', async t => {
  const nameOf = (serviceName: string | null, attributes: string | null) => {
    const resource = createResource({ version: '1.2.3', serviceName, attributes }, problem => t.fail(problem))
    return resource.attributes['service.name']
  }
  t.equal(nameOf(null, null), 'tollgate')
  t.equal(nameOf(null, 'service.name=from-attributes'), 'from-attributes')
  t.equal(nameOf('from-name', 'service.name=from-attributes'), 'from-name')
})

t.test('attributes that cannot be read are left out as a whole, and reported', async t => {
  const problems: string[] = []
  const options = { version: '1.2.3', serviceName: 'gate', attributes: 'team=a,secret' }
  const { attributes } = createResource(options, problem => problems.push(problem))
  t.match(attributes, { 'service.name': 'gate', 'service.version': '1.2.3', 'telemetry.sdk.name': 'opentelemetry' })
  t.notOk('team' in attributes)
  t.equal(problems.length, 1)
  t.notMatch(problems[0], 'secret')
})
