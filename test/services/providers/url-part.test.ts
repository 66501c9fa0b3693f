import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { urlPart } from '../../../services/providers/url-part.ts'

const root = join(import.meta.dirname, '..', '..', '..')

t.test('a text of any kind is a part of a URL', async t => {
  t.equal(urlPart('a/b c?😀'), 'a%2Fb%20c%3F%F0%9F%98%80')
  t.equal(urlPart('\ud83d\ud83d'), '%EF%BF%BD%EF%BF%BD')
})

t.test('no other module of a provider encodes parts of URLs', async t => {
  const files = globSync('services/providers/**/*.ts', { cwd: root })
  const own = files.filter(file => readFileSync(join(root, file), 'utf8').includes('encodeURIComponent('))
  t.strictSame(own, [join('services', 'providers', 'url-part.ts')])
})
