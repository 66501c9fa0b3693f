import { runLane } from '../together.ts'

runLane(9)
