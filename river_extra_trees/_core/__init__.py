"""The compiled core. It knows nothing of river, and never calls an estimator.

Who holds whom::

    Learner                    learner.pyx: one call at a time; reads targets, weights and samples
      |- EarlyPool             early_pool.pyx: naive Bayes and the latest classes beside the trees
      |                          of a classifier, during its first samples; then nothing
      |- Schema, Labels        schema.pyx: names -> columns, dicts -> rows; labels -> codes
      |                          (feature_values.pyx: what is a number, nominal, missing, refused)
      |
      |- Forest                forests/: trees that learn in batches
      |   |- Window            window.pyx: the samples of the batch, every column sorted
      |   |                      (sorting.pyx)
      |   |- Trees ...         trees.pyx: nodes and their statistics; one object per tree
      |   |- StreamForest      stream.pyx: bootstraps, replaced trees, the latest samples
      |   `- ForgetfulForest   forgetful.pyx: one Retained (retained.pyx) per tree;
      |                          forgetful_growth.pyx: its growth on one batch
      |
      |- MemoryForest          forests/memories.pyx: trees with several memories, and their weights
      |   |- Buffer            buffer.pyx: the latest samples, by column, in blocks
      |   |- Trees ...         one object per tree
      |   |- Group ...         the trees of one memory; each holds the TreeGrowth (tree_growth.pyx,
      |   |                      growth.pyx) of its next tree, which takes a few steps per sample
      |   |- ClassPool         class_pool.pyx: one answer of those of the groups
      |   |- NaiveBayes        naive_bayes.pyx: a member of the pool
      |   |- NumberMixture     number_mixture.pyx: one answer of those of a regression's groups
      |   `- LinearModels ...  linear_models.pyx: one object per tree of a regression
      |
      |- Shrubs                shrubs/: a weighted ensemble on a sliding window
      |   |- Window, Trees     one arena holds all trees
      |   `- Splitter
      |
      `- ParticleFilter        dynamic/: many versions of a tree
          |- Pool              the active samples
          |- SharedTrees       nodes with reference counts: particles share what is equal
          `- LogisticLeaves

    Splitter                   cart/: grows trees on a window; the rules and the scratch of a growth

The way of a sample::

    estimator.learn_one(x, y, w)
      `- core.learn            holds the object: a second call meanwhile raises RuntimeError
          |- read w and y      an error names what is wrong
          |- Schema.admit      x becomes a row; new features get columns
          |- reserve           all room that the sample needs; the last step that can fail
          `- take              the family learns the row; no Python code runs here
      `- estimator._grow       if a batch is full: plan (Python), then core.grow (compiled)

The way of a batch::

    estimator.learn_many(X, y, w)
      |- batch_of              columns: buffers of numbers, codes of nominal values (columns.pyx)
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

Sharing: `memory` (allocation), `rng` (random numbers by name), `split` (the struct of a split),
`shares` (the largest, the sum),
`state` (what is saved, and how a state is read with distrust), `safe_repr` (values in messages).
"""
