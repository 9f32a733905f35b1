"""The compiled core. It knows nothing of river, and never calls an estimator.

Each module is a pair of files: the `.pxd` says how the data lie, the `.pyx` what is done with them.

Who holds whom::

    Learner                learner: one call at a time; reads samples, answers, learns
      |- Schema, Labels    schema: features -> columns, labels -> codes (values: what is refused)
      |- EarlyPool         naive_bayes: what answers beside young trees
      |
      |- Forest            forests/forest: trees that learn in batches (batch_growth: in threads)
      |   |                  StreamForest in stream, ForgetfulForest in forgetful
      |   |- Window        window: the samples of the batch, every column sorted (sorting)
      |   `- Trees ...     trees: nodes and their statistics; one object per tree
      |
      |- MemoryForest      forests/memories: trees that remember more or fewer samples
      |   |                  (memory_exchange: saving, loading, parts)
      |   |- Buffer        buffer: the latest samples, in blocks
      |   |- Trees ...     CompactTrees (compact_trees), or Trees with LinearModels (model_trees)
      |   |- Group ...     the trees of one memory, grown anew in turn (rotation, growth)
      |   `- mixtures      one answer of those of the groups: ClassPool or NumberMixture
      |
      |- Shrubs            shrubs/ensemble: a weighted ensemble on a window (weights)
      |   `- Window, Trees     one object holds all trees
      |
      `- ParticleFilter    dynamic/particles: many versions of a tree; step learns a sample
          |                  (moves, proposals; inspection, load)
          |- Pool          pool: the active samples
          `- SharedTrees   shared_trees: particles share the nodes that are equal
                             (leaves, leaf_models: what a leaf knows)

    Splitter               cart/splitter: grows trees on a window (search: the best split of a node;
                             workspace: scratch)

The way of a sample::

    estimator.learn_one(x, y, w)
      `- core.learn            holds the object: a second call meanwhile raises RuntimeError
          |- read w and y      an error names what is wrong
          |- Schema.admit      x becomes a row; new features get columns
          |- reserve           all room that the sample needs; the last step that can fail
          `- take              the family learns the row; no Python code runs here
      `- estimator._grow       if a batch is full: plan (Python), then core.grow (compiled)

Until its first batch is full, a `Forest` grows its trees on the samples so far, after 10, 20, 30,
45 ... of them (`grow_early`). A `MemoryForest` splits the leaves of its first trees in between.

The way of a batch::

    estimator.learn_many(X, y, w)
      |- batch_of              columns: buffers of numbers, codes of nominal values (columns.pyx);
      |                          texts from the buffers of Arrow (texts.pyx)
      |- core.reader           links the columns to the schema; the batch is refused here or not
      |                          at all (batch.pyx)
      `- core.go_on            row by row, until a batch of the family is full:
          |- run               rows that bring nothing new, without Python's lock; forests that
          |                      learn in batches take several at once (`Ahead`)
          |- Reader.read       the row, without a look-up but of new nominal values
          |- row_label ...     the answer, where `predict_learn_many` asks for it
          |- Reader.admit      only where a feature or a nominal value is new
          `- reserve, take     as above

The models of several keys read one batch: `core.take_over` lets each go its own part of the way of
one reader, whose rows are grouped by key.

The way of a state::

    pickle, copy, persistence.save
      `- core.state            the fields that are no defaults, each part by its own `state()`
          `- packed            small arrays in a few bytes (packing.py; pickles only)

    unpickle, persistence.load
      `- restored              a new object from the fields, read with distrust (state.py): types,
                                 ranges and shapes, then `check()` of the structure

Sharing: `memory` (allocation), `rng` (random numbers by name), `split` (the struct of a split),
`shares` (the largest, the sum), `state` (what is saved, and how a state is read with distrust),
`safe_repr` (values in messages).
"""
