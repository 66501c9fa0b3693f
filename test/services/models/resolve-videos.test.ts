import t from 'tap'
import { sandboxModels } from '../../../services/config/sandbox.ts'
import { parseConfig } from '../../../services/config/read/parse.ts'
import { createModels } from '../../../services/models/models.ts'

const yaml = `
providers: [{ id: sandbox, protocol: sandbox }]
policies:
  - { id: "auto:film", models: [sandbox-video] }
  - { id: "auto:both", models: [sandbox-video, sandbox-chat] }
  - { id: "auto:glob", models: ["sandbox-*"] }
`

t.test('a policy makes videos only when its operator has named video models and nothing else', async t => {
  const models = createModels({
    config: parseConfig(yaml, {}),
    providers: { get: () => undefined, apply () {} },
    onUnlisted () {},
    onTruncated () {}
  })
  const found = (id: string) => models.resolveVideos(id).map(({ model }) => model.id)
  t.strictSame(found('sandbox-video'), ['sandbox-video'])
  t.strictSame(found('auto:film'), ['sandbox-video'])
  for (const id of ['sandbox-chat', 'auto', 'auto:both', 'auto:glob', 'auto:none', 'nothing']) t.strictSame(found(id), [], id)
  t.throws(() => parseConfig(yaml.replace('[sandbox-video]', '["sandbox-vid*"]'), {}), /matches no chat model/)
  t.equal(sandboxModels('sandbox').length, 3)
})
