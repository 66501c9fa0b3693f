import { render } from 'preact'
import { App } from './app.tsx'
import { loadSession } from './api/session.ts'
import { startKeys } from './keys.ts'
import { startRouter } from './router.ts'
import { startTheme } from './theme.ts'
import './style.css'

startTheme()
startRouter()
startKeys()
const root = document.getElementById('app')
if (root !== null) loadSession().finally(() => render(<App />, root))
