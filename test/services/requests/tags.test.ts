import fc from 'fast-check'
import t from 'tap'
import { createTagReader, otherValue } from '../../../services/requests/tags.ts'
import { anyCharacter } from '../../helpers/any-character.ts'

const dayMs = 86_400_000

function createTest (names: string[] = ['project', 'team'], limits = {}) {
  const time = { now: 0 }
  const read = createTagReader({ names: () => names, clock: () => time.now, limits })
  return {
    time,
    tags: (metadata: unknown, header?: string | string[], account = 'acme') => read({ account, metadata, header })
  }
}

t.test('only the operator\'s names are kept, in alphabetical order', async t => {
  const { tags } = createTest(['team', 'project'])
  t.equal(JSON.stringify(tags({ team: 't', user: 'u', project: 'p' })), '{"project":"p","team":"t"}')
  t.same(tags({ user: 'u' }), null)
  for (const nothing of [null, undefined, 'project', ['project'], { project: 5 }, { project: '' }, { project: ' \n' }]) {
    t.equal(tags(nothing), null, JSON.stringify(nothing))
  }
  t.equal(createTest(['constructor']).tags({}), null)
  t.equal(createTest([]).tags({ project: 'p' }, 'project=p'), null)
})

t.test('the header counts before the metadata, and may be percent-encoded', async t => {
  const { tags } = createTest()
  t.same(tags({ project: 'p', team: 't' }, 'project=q'), { project: 'q', team: 't' })
  t.same(tags(null, ' team = a%20b%2C c ,project=50%,,=,x'), { project: '50%', team: 'a b, c' })
  t.same(tags(null, 'project=a=b'), { project: 'a=b' })
  t.same(tags({ project: 'p' }, ['project=q', 'project=r']), { project: 'p' })
})

t.test('values are cut, and are text that a database takes', async t => {
  const { tags } = createTest()
  t.same(tags({ project: `  a\u0000b\u001b[31m\r\n${'x'.repeat(500)}` }), { project: `a b [31m ${'x'.repeat(55)}` })
  t.same(tags({ project: `${'x'.repeat(63)}😀` }), { project: `${'x'.repeat(63)}\ufffd` })
})

t.test('an account may use so many combinations in a day', async t => {
  const { tags, time } = createTest(['project'], { perAccount: 2, total: 3 })
  t.same(['a', 'b', 'c', 'a'].map(project => tags({ project })?.project), ['a', 'b', otherValue, 'a'])
  t.same(['a', 'b'].map(project => tags({ project }, undefined, 'beta')?.project), ['a', otherValue], 'all accounts together')
  time.now = dayMs - 1
  t.same(tags({ project: 'c' }), { project: otherValue })
  time.now = dayMs
  t.same(tags({ project: 'c' }), { project: 'c' })
})

t.test('whatever a client sends, a tag is short and well-formed', async () => {
  const { tags } = createTest()
  const project = fc.oneof(fc.string({ unit: anyCharacter }), fc.jsonValue())
  const metadata = fc.oneof(fc.jsonValue(), fc.record({ project }))
  fc.assert(fc.property(metadata, fc.option(fc.string(), { nil: undefined }), (metadata, header) => {
    const found = Object.entries(tags(metadata, header) ?? {})
    return found.every(([name, value]) => ['project', 'team'].includes(name) && value.length <= 64 &&
      value.length > 0 && value.isWellFormed() && !/\p{Cc}/u.test(value))
  }))
})
