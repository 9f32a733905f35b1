"""The compiled core. It knows nothing of river, and never calls an estimator.

Who holds whom::

    Learner                    learner.pyx: one call at a time; reads targets, weights and samples
      |- EarlyPool             early_pool.pyx: naive Bayes and the latest classes beside the trees
      |                          of a classifier, during its first samples; then nothing
      |- Schema, Labels        schema.pyx: names -> columns, dicts -> rows; labels -> codes
      |                          (feature_values.pyx: what is a number, nominal, missing, refused)
      |
      |- Forest                forests/forest.pyx: trees that learn in batches, and the threads
      |   |                      of a growth; early.pyx: the first trees
      |   |- Window            window.pyx: the samples of the batch, every column sorted
      |   |                      (sorting.pyx)
      |   |- Trees ...         trees.pyx: nodes and their statistics; one object per tree
      |   |- StreamForest      stream.pyx: bootstraps, replaced trees, the latest samples
      |   `- ForgetfulForest   forgetful.pyx: one Retained (retained.pyx) per tree;
      |                          forgetful_growth.pyx: its growth on one batch
      |
      |- MemoryForest          forests/memories.pyx: trees with several memories, and their weights
      |   |                      (rotation.pyx: trees grown anew in turn; memory_parts.pyx: what
      |   |                      parts tell each other; memory_state.pyx: saving and loading)
      |   |- Buffer            buffer.pyx: the latest samples, by column, in blocks
      |   |- Trees ...         one object per tree; CompactTrees (compact_trees.pyx) of classes
      |   |- Group ...         the trees of one memory; each holds the TreeGrowth (tree_growth.pyx,
      |   |                      growth.pyx) of its next tree, which takes a few steps per sample
      |   |- ClassPool         class_pool.pyx: one answer of those of the groups
      |   |- NaiveBayes        naive_bayes.pyx: a member of the pool
      |   |- NumberMixture     number_mixture.pyx: one answer of those of a regression's groups
      |   `- LinearModels ...  linear_models.pyx: one object per tree of a regression
      |
      |- Shrubs                shrubs/ensemble.pyx: a weighted ensemble on a sliding window
      |   |                      (weights.pyx: gradient and proximal step)
      |   |- Window, Trees     one arena holds all trees
      |   `- Splitter
      |
      `- ParticleFilter        dynamic/particles.pyx: many versions of a tree
          |                      (step.pyx: one step of particle learning, of moves.pyx and
          |                      proposals.pyx; rejuvenation.pyx, scores.pyx, shape.pyx, load.pyx,
          |                      inspection.pyx)
          |- Pool              pool.pyx: the active samples
          |- SharedTrees       shared_trees.pyx: nodes with reference counts: particles share what
          |                      is equal
          |- leaves            leaves.pyx: what a leaf knows; leaf_models.pyx: conjugate models
          `- LogisticLeaves    logistic.pyx

    Splitter                   cart/splitter.pyx: grows trees on a window; search.pyx: the best
                                 split of a node; workspace.pyx: the scratch of a growth

The way of a sample::

    estimator.learn_one(x, y, w)
      `- core.learn            holds the object: a second call meanwhile raises RuntimeError
          |- read w and y      an error names what is wrong
          |- Schema.admit      x becomes a row; new features get columns
          |- reserve           all room that the sample needs; the last step that can fail
          `- take              the family learns the row; no Python code runs here
      `- estimator._grow       if a batch is full: plan (Python), then core.grow (compiled)

The first samples: until the first batch of a forest is full, `grow_early` grows its trees on the
samples so far after 10, 20, 30, 45 ... of them (early.pyx). A `MemoryForest` splits the leaves of
its first trees in between (rotation.pyx), and `NaiveBayes` answers beside them.

The way of a batch::

    estimator.learn_many(X, y, w)
      |- batch_of              columns: buffers of numbers, codes of nominal values (columns.pyx);
      |                          texts from the buffers of Arrow (texts.pyx)
      |- core.reader           links the columns to the schema; the batch is refused here or not
      |                          at all (batch.pyx)
      `- core.go_on            row by row, until a batch of the family is full:
          |- run               rows that bring nothing new, without Python's lock; forests that
          |                      learn in batches take several at once (ahead.pxd)
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
`shares` (the largest, the sum), `targets` (targets and weights as numbers), `state` (what is saved,
and how a state is read with distrust), `safe_repr` (values in messages).
"""
