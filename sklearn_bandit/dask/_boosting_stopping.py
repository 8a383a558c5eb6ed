"""Judge by the loss of rows that stay where they are when to stop boosting.

A round of tasks takes longer than a tree. So several iterations are judged at a time,
while the next ones are being grown; iterations beyond the one that would have been the
last are taken back. The model is the same as if one had waited for each.
"""

from __future__ import annotations

from typing import Any

from sklearn_bandit._compat import should_stop
from sklearn_bandit.ensemble import EarlyStopping

from ._boosting_blocks import judge, start_judging, sums_of
from ._boosting_rows import HeldOutRows
from ._sums import add_sums

# Rounds of tasks that may be under way before the client waits for the first.
MAX_ROUNDS = 2


class ClusterStopping(EarlyStopping):
    """Scores after each iteration, by the losses of held-out rows on workers.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        The estimator that is being fitted.
    booster : Booster
        Has the training data and their raw predictions.
    held_out : HeldOutRows
        The other rows.
    is_warm : bool
        Whether there are trees already.
    n_threads : int
        Threads to use.
    """

    def __init__(
        self,
        model: Any,
        booster: Any,
        held_out: HeldOutRows,
        is_warm: bool,
        n_threads: int,
    ) -> None:
        rows = held_out.rows
        self.tasks, self.shards = rows.tasks, rows.shards
        self.missing_bin = int(model._bin_mapper.missing_values_bin_idx_)
        # What is printed of an iteration has its scores.
        self.n_at_once = 1 if model.verbose >= 2 else model.n_iter_no_change
        self.max_rounds = 0 if model.verbose >= 2 else MAX_ROUNDS
        self.judged = [
            self.tasks.submit(
                start_judging,
                shard,
                model._baseline_prediction,
                list(model._predictors),
                self.missing_bin,
            )
            for shard in self.shards
        ]
        self.waiting: list = []
        self.rounds: list = []
        self.n_before = len(model._predictors)
        self.history: list = []
        self.last: int | None = None  # iterations that count, if it stopped
        self.weight = held_out.weight()
        self.model, self.booster, self.n_threads = model, booster, n_threads
        if not is_warm:
            self._add_train_score()
            self.waiting.append([])
            self._send()

    def judge(self, trees: list) -> bool:
        """Score after the trees of one more iteration; return whether to stop."""
        model = self.model
        self._add_train_score()
        state = model._feature_subsample_rng.bit_generator.state
        self.history.append((model.n_insertions_, self.booster.state, state))
        self.waiting.append(trees)
        if len(self.waiting) >= self.n_at_once:
            self._send()
        while len(self.rounds) > self.max_rounds:
            self._receive()
        return self.last is not None

    def close(self) -> Any:
        """Wait for the last scores, and take back iterations that do not count."""
        if self.waiting:
            self._send()
        while self.rounds:
            self._receive()
        model = self.model
        if self.last is not None:
            del model._predictors[self.last :]
            del model.sample_sizes_[self.last :]
            del model.train_score_[self.last + 1 :]
        n_new = len(model._predictors) - self.n_before
        if n_new == 0:
            return self.booster.state
        model.n_insertions_, state, random = self.history[n_new - 1]
        model._feature_subsample_rng.bit_generator.state = random
        return state

    def _add_train_score(self):
        y, raw, weights = self.booster.scored()
        loss = self.model._loss(
            y_true=y,
            raw_prediction=raw,
            sample_weight=weights,
            n_threads=self.n_threads,
        )
        self.model.train_score_.append(-loss)

    def _send(self):
        """Have the iterations judged that wait for it."""
        before = self.judged
        self.judged = [
            self.tasks.submit(
                judge, shard, one, self.waiting, self.model._loss, self.missing_bin
            )
            for shard, one in zip(self.shards, before, strict=True)
        ]
        self.rounds.append([self.tasks.submit(sums_of, one) for one in self.judged])
        for future in before:
            self.tasks.release(future)
        self.waiting = []

    def _receive(self):
        """Take the scores of the first round that is under way."""
        scores = self.model.validation_score_
        for sums in zip(*self.tasks.gather(self.rounds.pop(0)), strict=True):
            if self.last is not None:
                break
            scores.append(-float(add_sums(list(sums))) / self.weight)
            if should_stop(self.model, scores):
                self.last = len(scores) - 1
