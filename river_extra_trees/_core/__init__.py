"""The compiled core. It does not import river and never calls an estimator.

One class does: the base class of a watch, whose methods `predict_one` and `learn_one` call the
model that is watched (watch).

Most modules are a pair of files: the `.pxd` declares the data layout, the `.pyx` the functions.

Words. The *batch* of a family: the samples between two growths of its trees, as in the papers. A
`Table`: samples as columns, such as a frame. A *stretch*: the rows of a table that one call of
`read_stretch` reads, at most 256, or 4,096 if it only predicts them. Rows *read ahead*: rows of a
stretch that are encoded together, at most 256. A *block*: columns in one array of doubles; in
`Buffer`, the samples that share an allocation. A *window* of m samples: the latest m. A *memory* of
m samples: per sample, all weights are multiplied by 1 - 1 / m. The *place* of a sample: its
position in a `Buffer`.

Classes. A learner of any family inherits from `Learner`; an indented line below names a part that
the object above it contains::

    Learner                learner: predicts and learns samples, one call at a time
      |- Schema, Labels    schema: features -> columns, labels -> codes (validation)
      |
      |- Forest            forests/forest: trees that learn in batches; a base class
      |   |                  StreamForest (stream), ForgetfulForest (forgetful)
      |   |                  BatchGrowth: grows the trees on a batch, in threads
      |   |- Window        window: the samples of the batch, sorted by every column (sorting)
      |   |- ValueHistory  cart/value_history: what nominal values of earlier samples said
      |   |                  (sets of values of a stream tree follow it)
      |   `- Trees         trees: a table of trees (tree: nodes, walks, statistics of the leaves)
      |
      |- ExtraTrees        forests/extra_trees: groups of trees; each group has its window size
      |   |- Buffer        buffer: the latest samples, in blocks
      |   |- Trees         in a regression with LinearModels (model_trees)
      |   |- Group ...     the trees of one window size, replaced in turn (rotation, growth;
      |   |                  lane_rows: its samples; candidates: columns that are visited one by
      |   |                  one; column_lists: columns that few samples have; node_values:
      |   |                  nominal values)
      |   |- TreePass      tree_pass: the trees predict and learn one row, or several of a table
      |   |- LogisticRegression   logistic: a member of the pool, in a classification
      |   |- Questions     questions: rows that were predicted, until their labels come
      |   |- NoiseModel    noise: how large errors are at x, in a regression
      |   `- ClassPool or NumberMixture      mixtures: combines the predictions of the groups, and
      |                      of Transitions: which label follows which
      |
      |- Shrubs            shrubs/shrubs: a weighted ensemble on a window
      |   |                  (proximal: thresholds, and the projection onto the simplex)
      |   |- Window
      |   `- Trees
      |
      `- ParticleFilter    dynamic/filter: particles, each a version of one tree (particles: their
          |                  data; step and moves learn a sample)
          |- Window        the active samples
          `- SharedTrees   shared_trees: particles share their equal nodes
                             (leaf_models: the leaves' predictive distributions)

    Splitter               cart/splitter: grows trees on a window; `Forest` and `Shrubs` use it
                             (search: the best split of a node; published: scores
                             of published programs; workspace: the scratch memory)

`Forest`, `ExtraTrees` and `Shrubs` inherit from `Learner` through `Ensemble` (ensemble: ranges of
rows that are only predicted), `Forest` and `Shrubs` through `WindowEnsemble`, which has the window
and the `ValueHistory`.

How one sample is learned::

    estimator.learn_one(x, y, w)
      |- core.learn            locks the object: a call from within raises RuntimeError
      |   |- read w and y      an invalid value raises an error
      |   |- Schema.admit      encodes x as a row; adds columns for new features
      |   |- begin_step        from here on, only a lack of memory can fail, and breaks the model
      |   |- reserve           memory for the row; trees allocate theirs where they need it
      |   |- update            the family learns the row; no Python code runs here
      |   `- end_step
      `- estimator._grow       forests, when a batch is full: plan (Python), then grow (compiled)

Until its first batch is full, a `Forest` grows its trees on the samples so far, after 10, 20, 30,
45 ... of them (`begin_early`). Where a growth takes long, some trees grow after each of the samples
that follow. An `ExtraTrees` splits the leaves of its first trees in between.

How a `Table` is learned or predicted::

    estimator.learn_many(X, y, w)
      |- table_of              Python: the columns by public functions of their library; here they
      |                          become numbers, and codes of nominal values (columns)
      |- core.reader           links the columns and their values to the schema; rejects the whole
      |                          table if a row is invalid (table)
      |- core.read_stretch     reads a stretch of rows, or fewer if the batch of the family is full;
      |   |                      the threads of a `Team` share the work (team):
      |   |- run               in all families without the GIL: rows without new features, nominal
      |   |   |                  values or labels
      |   |   |- RowReader.read_ahead   encodes several rows, column by column
      |   |   |- predict_row, reserve, update   predict and learn one row after the other
      |   |   `- or several rows go down each tree together, divided by its nodes (tree): in a
      |   |        `Forest`; in `ExtraTrees`, whose trees also learn them (tree_pass, as `update`
      |   |        does). If no row is learned, in `Shrubs`; forests predict ranges of rows in
      |   |        several threads
      |   `- the row at which `run` stops, with the GIL:
      |       |- RowReader.read   encodes the row; looks up what it does not know
      |       |- predict_row   the prediction, if `predict_many` or `predict_learn_many` asks
      |       |- admit         with the row as a dict, if a feature or a nominal value is new
      |       `- reserve, update  as above
      `- estimator._grow       when the batch of the family is full; then `read_stretch` again

No module calls functions of C that other libraries export, such as Arrow streams: an error of
these could end the process, where one of their Python functions raises an exception.

How a learner is saved and restored::

    pickle, copy, persistence.save
      `- core.state            the fields that differ from their defaults; each part has `state()`

    unpickle, persistence.load
      `- restored              a new object from the fields; a table of fields names types, ranges
                                 and shapes (state), then indices and structure are checked

How a prediction is explained::

    estimator.explain_one(x)
      `- core.explain         encodes x; `TreeExplanations` divides the outputs of a table of
                                 trees (explain), by the path with the means that inner nodes keep;
                                 forests/explained divides what combines the groups of an
                                 `ExtraTrees`

All modules use: `guarded` (one call at a time), `allocation`, `parts` (who owns arrays frees and
measures them; what has a table of fields can be saved), `lists` (list items without the GIL),
`rng` (named streams of random numbers), `split` (the struct of a split), `shares` (the largest
share, the sum of shares, fixed share, softmax), `moments` (running means and variances), `linalg`
(least squares), `max_features` (how many features a split tries), `state` (saving, and validation
when loading), `safe_repr` (values in messages).
"""
