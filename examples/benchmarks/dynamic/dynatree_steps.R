# One step of dynaTree (retire the oldest sample, learn a new one), timed for cost.py.
#
#     Rscript dynatree_steps.R MODEL FEATURES PARTICLES
#
# Each line of standard input holds whole samples, features and target, one after the other. The
# first line starts the cloud; for every other one the CPU time per sample, in microseconds, is
# printed.

suppressPackageStartupMessages(library(dynaTree))

arguments <- commandArgs(TRUE)
model <- arguments[1]
p <- as.integer(arguments[2])
particles <- as.integer(arguments[3])
input <- file("stdin", "r")

samples <- function(line) {
  matrix(as.numeric(strsplit(line, " ")[[1]]), ncol = p + 1, byrow = TRUE)
}

rows <- samples(readLines(input, 1))
window <- nrow(rows)
cloud <- dynaTree(rows[, 1:p], rows[, p + 1],
  N = particles, model = model, verb = 0,
  icept = if (model == "linear") "augmented" else "implicit"
)
steps <- 0
cat("ready\n")
while (length(line <- readLines(input, 1)) > 0) {
  rows <- samples(line)
  before <- sum(proc.time()[1:2])
  for (i in seq_len(nrow(rows))) {
    # The last row of the pool takes the place of the retired one: this is the order of arrival.
    cloud <- retire(cloud, steps %% (window - 1) + 1, verb = 0)
    cloud <- update(cloud, rows[i, 1:p, drop = FALSE], rows[i, p + 1], verb = 0)
    steps <- steps + 1
  }
  cat((sum(proc.time()[1:2]) - before) / nrow(rows) * 1e6, "\n")
}
