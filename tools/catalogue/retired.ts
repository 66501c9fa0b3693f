/** Models that their provider has shut down, and that the source may still list. */
interface Retired { provider: string, models: RegExp, day: string, source: string }

const gemini = {
  models: /^(google\/)?gemini-3(-pro|\.1-flash)-image-preview$/,
  day: '2026-06-25',
  source: 'ai.google.dev/gemini-api/docs/changelog, 28 May 2026'
}
const gemini25 = {
  models: /^(google\/)?gemini-2\.5-flash-image$/,
  day: '2026-10-02',
  source: 'ai.google.dev/gemini-api/docs/deprecations'
}

const gemini31 = {
  models: /^(google\/)?gemini-3\.1-flash-image$/,
  day: '2026-10-29',
  source: 'github.com/BerriAI/litellm/discussions/44983; deprecated in ai.google.dev/gemini-api/docs/changelog, 6 Oct 2026'
}

const experiments = {
  models: /^(gemini-exp-\d+|gemini-gemma-2-.*|learnlm-1\.5-.*|imagen-3\.0-.*)$/,
  day: '2026-01-15',
  source: 'ai.google.dev/gemini-api/docs/deprecations'
}

/** Models that are gone, as of 24 Nov 2026. */
export const retiredModels: readonly Retired[] = [
  { provider: 'openai', models: /^dall-e-/, day: '2026-05-12', source: 'developers.openai.com/api/docs/models/dall-e-3' },
  { provider: 'openai', models: /^gpt-image-1(-2\d|$)/, day: '2026-10-23', source: 'npm openai 7.57.0, resources/images' },
  { provider: 'openai', models: /^sora-2/, day: '2026-09-24', source: 'npm openai 7.57.0, resources/videos' },
  {
    provider: 'xai',
    models: /^grok-imagine-image-quality$/,
    day: '2026-11-02',
    source: 'docs.x.ai/developers/migration/imagine-image-quality-nov-2'
  },
  { provider: 'gemini', ...gemini },
  { provider: 'openrouter', ...gemini },
  { provider: 'gemini', ...gemini25 },
  { provider: 'gemini', ...experiments },
  { provider: 'openrouter', ...gemini25 },
  { provider: 'gemini', ...gemini31 },
  { provider: 'openrouter', ...gemini31 },
  {
    provider: 'gemini',
    models: /^gemini-2\.0-flash(-lite)?(-001)?$/,
    day: '2026-06-01',
    source: 'ai.google.dev/gemini-api/docs/changelog, 1 Jun 2026'
  },
  {
    provider: 'gemini',
    models: /^imagen-4\.0-(fast-|ultra-)?generate-001$/,
    day: '2026-08-17',
    source: 'ai.google.dev/gemini-api/docs/changelog, 15 Jun 2026'
  },
  {
    provider: 'gemini',
    models: /^veo-(2\.0|3\.0|3\.0-fast)-generate-001$/,
    day: '2026-06-30',
    source: 'ai.google.dev/gemini-api/docs/changelog, 15 Jun 2026'
  },
  { provider: 'gemini', models: /^veo-/, day: '2026-10-22', source: 'ai.google.dev/gemini-api/docs/deprecations' }
]

/** Whether a provider no longer serves a model. */
export function isRetired (provider: string, name: string): boolean {
  return retiredModels.some(one => one.provider === provider && one.models.test(name))
}
