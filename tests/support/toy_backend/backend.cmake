# SPDX-License-Identifier: Apache-2.0
# Rooms: rows, .
dlock_add_keeper(toy STOCK)
