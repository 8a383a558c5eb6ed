"""What the kernels of a tree share: rows in bins, splits and their limits."""

from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sklearn_bandit._core.bin_lookup cimport MISSING_BIN

cdef enum:
    MISSING_RANK = 65535    # rank of a missing value
    UNKNOWN_BIN = -1    # Split.next_bin: to be found when the rows are divided
    N_SLOTS = 256       # cells in the histogram of a feature: 255 bins, missing values
    MAX_GROUP = 8       # features whose histograms are filled in one pass over the rows
    N_LEVELS = 3        # blocks of copied rows: for subtrees, with ranks, for samples
    SAMPLE_LEVEL = 2
    # Rows that are fetched ahead of their use: a node's rows have gaps between them,
    # which the processor does not predict.
    ROWS_AHEAD = 16
    # Kinds of histogram, to be combined:
    SPARSE = 1          # for few rows: the bins touched are noted, no others scanned
    SMALL = 2           # the node's weight is small: short integers hold it
    # What marks a bin: a highest bit, for these are collected sixteen at a time.
    MARK = 128


cdef struct Block:
    # Rows in bins with their targets: all samples, or a node's rows copied together.
    const uint8_t* rows         # bins, row by row; the stride is a multiple of 16
    Py_ssize_t stride
    const uint8_t* columns      # bins, column by column; NULL in a copy
    Py_ssize_t n_rows
    const uint8_t* transposed       # a copy of wide rows: its bins, column by column
    Py_ssize_t transposed_stride    # from a column to the next
    const double* low           # smallest and largest value in each bin of each feature
    const double* high
    Py_ssize_t n_values         # bins that these two have room for, per feature
    const uint16_t* labels      # classes: one per output, numbered through all outputs
    const uint16_t* counts      # integer weights
    const double* weights       # real weights (NULL: integer ones)
    const double* moments       # regression: weight, then weight times each output
    # Where bins hold several values and these are told apart, see `ValueRanks`:
    const uint16_t* ranks       # of values in all samples, column by column, or NULL
    const int32_t* rank_columns  # the column of each feature; -1: its bins are as fine
    Py_ssize_t n_ranked         # samples in a column
    const uint32_t* origin      # numbers of the rows among all samples; NULL: the same


cdef inline const uint8_t* bins_of(
    const Block* block, int32_t feature, Py_ssize_t* stride
) noexcept nogil:
    """Bins of a feature, where they are closest together."""
    stride[0] = 1
    if block.columns != NULL:
        return block.columns + feature * block.n_rows
    if block.transposed != NULL:
        return block.transposed + feature * block.transposed_stride
    stride[0] = block.stride
    return block.rows + feature


cdef inline const uint16_t* ranks_of(
    const Block* block, int32_t feature
) noexcept nogil:
    """Ranks of a feature's values in all samples; NULL if bins are to be used."""
    if block.ranks == NULL or block.rank_columns[feature] < 0:
        return NULL
    return block.ranks + block.rank_columns[feature] * block.n_ranked


cdef inline Py_ssize_t sample_of(const Block* block, uint32_t id) noexcept nogil:
    """Number of a row among all samples."""
    return id if block.origin == NULL else block.origin[id]


cdef struct Split:
    # A feature and a threshold between two bins, or between two ranks.
    int32_t feature             # -1: none found
    int32_t bin                 # the largest bin that goes left
    int32_t next_bin            # the smallest occupied bin that goes right
    int32_t rank                # the largest rank that goes left; -1: by bins
    bint missing_left           # where missing values go
    bint has_missing            # whether the node has any in this feature
    double score                # the larger the better; see Criterion.score
    double* left                # totals of the left child: room for n_channels


cdef inline void set_split(
    Split* split, int32_t feature, int32_t bin, int32_t next_bin, bint missing_left,
    bint has_missing, double score,
) noexcept nogil:
    """Set where a split by bins is; the totals of its left child are not set."""
    split.feature = feature
    split.bin = bin
    split.next_bin = next_bin
    split.missing_left = missing_left
    split.has_missing = has_missing
    split.score = score


cdef struct Cut:
    # Rows divided at a threshold that was drawn beforehand.
    int32_t feature
    int32_t last                # the largest bin that goes left
    Py_ssize_t n_left           # out, if rows are counted: those on the left
    double score                # out: of the split


cdef struct Limits:
    # What a split has to respect.
    double min_weight_leaf
    Py_ssize_t min_samples_leaf
    Py_ssize_t n_rows           # rows in the node
    bint monotonic              # whether the values of children are constrained:
    double lower                # they stay between these
    double upper


cdef struct ScanRequest:
    # What is asked of a histogram.
    int32_t feature
    int8_t constraint           # of the feature: monotonic, see `Limits`
    const double* totals        # of the node
    const Limits* limits
    const uint64_t* allowed     # bitmap of bins after which may be split (NULL: all)
    bint clear                  # empty the histogram


cdef inline void copy_row(
    uint8_t* to, const uint8_t* row, Py_ssize_t stride
) noexcept nogil:
    """Copy a row of bins; its stride is a multiple of 16."""
    cdef Py_ssize_t i

    if stride > 64:
        memcpy(to, row, stride)
        return
    # Where rows are short, calling memcpy takes longer than copying.
    for i in range(stride // 8):
        (<uint64_t*> to)[i] = (<const uint64_t*> row)[i]
