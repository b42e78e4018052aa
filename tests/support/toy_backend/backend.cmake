# SPDX-License-Identifier: Apache-2.0
dlock_add_keeper(toy)
