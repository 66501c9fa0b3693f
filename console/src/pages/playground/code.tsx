import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CopyButton } from '../../parts/copy-button.tsx'
import { languages, snippet, type Language, type Operation } from './snippets.ts'

const longest = 120

/** The same call in other languages; long data URLs are cut on the page and whole in the copy. */
export function Code ({ operation, body }: { operation: Operation, body: Readonly<Record<string, unknown>> }): JSX.Element {
  const [language, setLanguage] = useState<Language>('curl')
  const code = snippet(language, operation, `${location.origin}/v1`, body)
  const shown = code.replace(/data:[\w/+.-]+;base64,[\w+/=]+/g, url => url.length > longest ? `${url.slice(0, longest)}…` : url)
  return (
    <section class='code'>
      <div class='head'>
        <h2>The same call</h2>
        <div class='actions'>
          {languages.map(name => (
            <button key={name} type='button' class='plain' aria-pressed={name === language} onClick={() => setLanguage(name)}>{name}</button>
          ))}
          <CopyButton text={code} />
        </div>
      </div>
      <pre tabIndex={0} aria-label={`The call in ${language}`}><code>{shown}</code></pre>
    </section>
  )
}
