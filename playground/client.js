// The worker as the page sees it: started again if it dies or does not answer.
import { nodesOf, weightsOf } from "./tree.js";

const PATIENCE = 400; // milliseconds after which a worker that is busy with an old wish is replaced

export class Client {
  /** `listeners` are functions by the type of message; `died` is called when a worker ends. */
  constructor(script, module, listeners) {
    this.url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    Object.assign(this, { module, listeners, id: 0, source: null, snapshot: null });
    this.start();
  }

  start() {
    this.worker?.terminate();
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.worker.terminate();
      Object.assign(this, { worker: null, isTraining: false }); // another one is started when it is needed
      this.listeners.died(event.message || "no reason given");
    };
    this.worker.postMessage({ id: this.id, type: "core", module: this.module });
    if (this.source) this.worker.postMessage({ id: this.id, type: "read", ...this.source });
  }

  hear(data) {
    if (data.id !== this.id || (data.type === "table" && this.hasTable)) return;
    clearTimeout(this.timer);
    if (data.type === "table") this.hasTable = true;
    if (data.type === "epoch") this.remember(data);
    if (data.type === "model" || data.type === "error") this.isTraining = false;
    this.listeners[data.type]?.(data);
  }

  /** Read another table; `source` is the text or the bytes of it. */
  read(source, hasHeader = null) {
    this.source = { source, hasHeader };
    this.hasTable = false;
    this.id++;
    if (this.worker && !this.isTraining) return this.worker.postMessage({ id: this.id, type: "read", ...this.source });
    this.isTraining = false;
    this.start();
  }

  train(wishes) {
    const wasTraining = this.isTraining;
    Object.assign(this, { wishes, isTraining: true, wasStopped: false, snapshot: null });
    const ask = () => this.worker.postMessage({ id: this.id, type: "train", wishes });
    this.id++;
    if (!this.worker) this.start();
    ask();
    clearTimeout(this.timer);
    if (!wasTraining) return;
    this.timer = setTimeout(() => {
      this.start();
      ask();
    }, PATIENCE);
  }

  /** Keep what the training has reached, in case that it is stopped. */
  remember({ t, epoch, loss, tree, context }) {
    if (context && t === 0) this.snapshot = { ...context, members: [] };
    const member = (this.snapshot.members[t] ??= { status: "callback", seed: 0, history: { train_loss: [], train_error: [], learning_rate: [] } });
    member.tree = tree;
    if (epoch === 0) return;
    member.history.train_loss.push(loss);
    member.history.train_error.push(NaN);
    member.history.learning_rate.push(NaN);
  }

  /** Stop the training; what it has reached becomes the model. Return whether there is something. */
  stop() {
    const { snapshot } = this, members = snapshot?.members.filter(({ history }) => history.train_loss.length) ?? [];
    this.id++;
    this.isTraining = members.length > 0;
    this.wasStopped = true;
    this.start();
    if (members.length) {
      this.worker.postMessage({ id: this.id, type: "train", wishes: this.wishes, stopped: { ...snapshot, members } });
    }
    return members.length > 0;
  }

  close() {
    this.worker?.terminate();
    URL.revokeObjectURL(this.url);
  }
}

/** Return a function from a tree in training and the numbers of a row to the prediction. */
export function predictorOf({ lines, lineStart }, { scaling, target }) {
  const n = lines.length / 4;
  return (tree, row) => {
    const inputs = new Float64Array(n);
    row.forEach((x, c) => {
      for (let i = lineStart[c]; i < lineStart[c + 1]; i++) {
        const value = Math.min(Math.max((x - lines[i]) * lines[n + i], lines[2 * n + i]), lines[3 * n + i]);
        inputs[i] = (value - scaling.offset[i]) * scaling.factor[i];
      }
    });
    return nodesOf({ ...tree, ...weightsOf(tree) }, inputs).sums[0] / target[1] + target[0];
  };
}
