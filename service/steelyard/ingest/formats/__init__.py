"""One module per format of tool output. Each exports `parse(data, out)`, which fills a collector.

`data` is UTF-8 without a byte order mark, at most `max_bytes` long. A module raises `Unreadable`
for a report that is not of its format or not whole; what it added before that is kept.
"""
