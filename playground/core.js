// The compiled core: its memory, training and evaluation of trees.

const STATUS = ["completed", "early_stopped", "callback", "diverged", "interrupted"];

export class Core {
  /** Return the core of a compiled module. */
  static async of(module) {
    const core = new Core();
    const imports = {};
    for (const { module: owner, name } of WebAssembly.Module.imports(module)) {
      // What the system would do: only the clock is needed.
      (imports[owner] ??= {})[name] = () => 0;
    }
    imports.wasi_snapshot_preview1 = {
      ...imports.wasi_snapshot_preview1,
      clock_time_get: (_clock, _precision, at) => {
        new DataView(core.wasm.memory.buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      proc_exit: () => {
        throw new Error("the program of the core has ended");
      },
    };
    imports.env = { epoch_done: (...figures) => (core.epochDone?.(...figures) ? 1 : 0) };
    core.wasm = (await WebAssembly.instantiate(module, imports)).exports;
    core.wasm._initialize?.();
    return core;
  }

  /** Copy an array to the memory of the core; return its position. */
  put(array) {
    const at = this.wasm.allocate(Math.max(8, array.byteLength));
    if (!at) throw new Error("there is not enough memory");
    new Uint8Array(this.wasm.memory.buffer, at, array.byteLength).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return at;
  }

  copy(type, at, n) {
    return new type(this.wasm.memory.buffer, at, n).slice();
  }

  /** Call `use(put)`; what was put into the memory is released afterwards. */
  with(use) {
    const places = [];
    try {
      return use((array) => {
        if (!array) return 0;
        places.push(this.put(array));
        return places.at(-1);
      });
    } finally {
      for (const at of places) this.wasm.release(at);
    }
  }

  /** Return the random tree of a seed (two numbers of 32 bits) by a rule, in the order of `Growth` in cpp/wasm/playground.cpp. */
  grow({ nInputs, k, maxDepth, minChildren, maxChildren, nWeights, output, inner, groups, chances, nRamps, initScale, rampFraction }, [low, high]) {
    return this.with((put) => {
      const rule = [nInputs, k, maxDepth, minChildren, maxChildren, nWeights, output, inner, chances.length, put(groups), put(chances), put(nRamps), low, high];
      const parts = put(new Uint32Array(1)), grown = this.wasm.grow(put(Uint32Array.from(rule)), initScale, rampFraction, parts);
      const [n, l, parent, leafParent, leafInput, activation, weights] = this.copy(Uint32Array, this.copy(Uint32Array, parts, 1)[0], 7);
      const tree = {
        k,
        nInputs,
        parent: this.copy(Int32Array, parent, n),
        activation: this.copy(Uint8Array, activation, n),
        leafParent: this.copy(Int32Array, leafParent, l),
        leafInput: this.copy(Int32Array, leafInput, l),
        theta: Float32Array.from(this.copy(Float64Array, weights, 2 * n - k + l)),
      };
      this.wasm.free_grown(grown);
      return tree;
    });
  }

  /** Keep the rows of a table in the memory: data is [n_rows][n_columns]. */
  table(data, nColumns, encoder, target) {
    return {
      data: this.put(data),
      nRows: data.length / nColumns,
      nColumns,
      first: this.put(encoder.lineStart),
      lines: this.put(encoder.lines),
      labels: target.labels ? this.put(target.labels) : 0,
      values: target.values ? this.put(target.values) : 0,
    };
  }

  release(table) {
    for (const key of ["data", "first", "lines", "labels", "values"]) if (table[key]) this.wasm.release(table[key]);
  }

  /** Write a job, in the order of `Job` in cpp/wasm/playground.cpp. */
  job(put, tree, table, more = {}) {
    const n = tree.parent.length, l = tree.leafParent.length;
    const structure = this.wasm.new_tree(tree.nInputs, tree.k, n, l, put(tree.parent), put(tree.activation), put(tree.leafParent), put(tree.leafInput));
    const theta = put(tree.theta), leafInput = put(tree.leafInput);
    const { scaling, target, rows, validation, signs, settings, loss, optimizer, seed, mayMoveTo } = more;
    const fields = [
      ...[structure, theta, leafInput, table.data, table.nRows, table.nColumns, table.first, table.lines],
      ...[put(scaling?.offset), put(scaling?.factor), table.labels, table.values, put(target)],
      ...[put(rows?.index), put(rows?.weight), rows?.index.length ?? 0],
      ...[put(validation?.index), put(validation?.weight), validation?.index.length ?? 0],
      ...[put(signs?.node), put(signs?.input), put(settings)],
      ...[put(loss), loss?.length ?? 0, put(optimizer), optimizer?.length ?? 0, seed ?? 0, put(mayMoveTo)],
    ];
    return { at: put(Uint32Array.from(fields)), structure, theta, leafInput };
  }

  /** Train a tree; return it with its new weights and inputs, the status and the losses. */
  train(tree, table, job, onEpoch = null) {
    return this.with((put) => {
      const { at, structure, theta, leafInput } = this.job(put, tree, table, job);
      const history = { train_loss: [], train_error: [], val_loss: [], learning_rate: [] };
      const [n, l] = [tree.theta.length, tree.leafInput.length];
      this.epochDone = (epoch, loss, error, valLoss, rate, thetaAt, leafAt) => {
        history.train_loss.push(loss);
        history.train_error.push(error);
        history.val_loss.push(valLoss);
        history.learning_rate.push(rate);
        return onEpoch?.(epoch, loss, () => ({ theta: this.copy(Float32Array, thetaAt, n), leafInput: this.copy(Int32Array, leafAt, l) }));
      };
      const status = STATUS[this.wasm.train(at)];
      this.epochDone = null;
      this.wasm.free_tree(structure);
      return {
        tree: { ...tree, theta: this.copy(Float32Array, theta, n), leafInput: this.copy(Int32Array, leafInput, l) },
        status,
        history,
      };
    });
  }

  /** Return the mean outputs of trees (or their softmax) for all rows of a table. */
  forward(trees, table, scalings, softmax) {
    const k = trees[0].k, size = table.nRows * k;
    return this.with((put) => {
      const sum = put(new Float64Array(size));
      trees.forEach((tree, t) => {
        this.with((putOne) => {
          const { at, structure } = this.job(putOne, tree, table, { scaling: scalings?.[t] });
          this.wasm.forward(at, softmax ? 1 : 0, sum);
          this.wasm.free_tree(structure);
        });
      });
      return this.copy(Float64Array, sum, size).map((x) => x / trees.length);
    });
  }
}
