"""Analysis of queries, which resolves names, checks types, determines the key of the result and returns a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from forebay.sql import aggregation, joining
from forebay.sql.aliases import Item
from forebay.sql.bound import BoundColumn
from forebay.sql.catalog import BOUNDS, PSEUDO, Catalog, Named, Source
from forebay.sql.errors import SqlError
from forebay.sql.exploding import explode
from forebay.sql.names import Sources
from forebay.sql.options import default_key_format
from forebay.sql.plan import Filtered, Projected, Rekeyed, Scan, Slot, Step, TypedExpression
from forebay.sql.printed import to_sql
from forebay.sql.relation import KeyColumn, Relation
from forebay.sql.syntax import Column, Expression, Field, Literal, Query, Selected, Star
from forebay.sql.walk import columns, parts

_IN_WINDOWS = frozenset(BOUNDS)
_UNSELECTED = "key column "
"""Prefix of the names of key columns that a query does not select. No column of a statement can have this prefix."""


class Analysis:
    """An analyzed query.

    Args:
        query: The query.
        catalog: The declared sources.
        key_format: Format of the result's key, or "" for the format of the first source.
        settings: Properties of SET.
        is_transient: Whether the result is returned to a client instead of being stored. It then needs no key.
    """

    def __init__(
        self,
        query: Query,
        catalog: Catalog,
        key_format: str = "",
        settings: Mapping[str, str] | None = None,
        *,
        is_transient: bool = False,
    ) -> None:
        self._is_transient = is_transient
        self.names: tuple[str, ...] = ()
        """Columns of the result, in the order of the SELECT list."""
        self.query = query
        self.settings = settings or {}
        self.catalog = catalog
        froms = (query.source, *(join.source for join in query.joins))
        sources = [(source.alias, catalog.get(source.name, source.place)) for source in froms]
        self.sources = Sources(query, sources, is_asked=is_transient)
        self.first = self.sources.by_alias[query.source.alias]
        self.key_format = key_format or self.first.encoding.key_kind
        # A source without keys has no key format to take over, but the result of these clauses has a key.
        if not key_format and self.key_format == "NONE" and (query.group_by or query.partition_by or query.joins):
            self.key_format = default_key_format(self.settings)
        free = _IN_WINDOWS if query.window else frozenset[str]()
        self.made_name = joining.made_name(self.sources.by_alias.values())
        result = frozenset({self.made_name}) if query.joins else frozenset[str]()
        self.free = free | result
        self.ons = [self.sources.qualify(join.on) for join in query.joins]
        self.where = self._qualify(query.where)
        self.having = self._qualify(query.having)
        self.group_by = [self._grouping(expression) for expression in query.group_by]
        self.partition_by = [self.sources.qualify(expression) for expression in query.partition_by]
        self.is_aggregate = bool(query.group_by) or any(
            aggregation.is_aggregate(part) for item in query.select for part in parts(item.expression)
        )
        if is_transient and self.is_aggregate and not self.group_by:
            # All rows are one group.
            self.group_by = [Literal(0)]
        if query.as_of is not None:
            raise SqlError(query.place, "FOR SYSTEM_TIME AS OF is for a query of a table: leave it out here")
        if query.window and not query.group_by:
            raise SqlError(query.place, "a WINDOW needs GROUP BY: add it, or leave WINDOW out")
        if query.emit == "FINAL" and not query.window:
            raise SqlError(
                query.place, "EMIT FINAL returns the last result of each window: add a WINDOW, or write EMIT CHANGES"
            )
        if query.having is not None and not query.group_by:
            raise SqlError(query.place, "HAVING needs GROUP BY: write WHERE for conditions on single rows")

    def _qualify(self, expression: Expression | None) -> Expression | None:
        return None if expression is None else self.sources.qualify(expression, self.free)

    def _grouping(self, expression: Expression) -> Expression:
        """Return the expression that an item of GROUP BY names. The item can be an alias of the SELECT list."""
        if isinstance(expression, Column) and not expression.source:
            for selected in self.query.select:
                known = any(s.type_of(expression.name) is not None for s in self.sources.by_alias.values())
                if selected.alias == expression.name and not known:
                    return self.sources.qualify(selected.expression, self.free)
        return self.sources.qualify(expression, self.free)

    def project(self) -> tuple[Step, tuple[Named, ...], tuple[Named, ...], Relation]:
        """Return the last step, the key columns, the value columns, and the relation before the projection.

        Raises:
            SqlError: The query is invalid.
        """
        synthetic = joining.synthetic(self.query.joins, self.ons)
        extra = [Item(self.made_name, Column(self.made_name), of_star=True)] if synthetic else []
        items = self.sources.items(self.query.select, self.free, extra)
        self.names = tuple(item.name for item in items)
        relation = self._relation(items)
        if self.where is not None:
            relation = replace(relation, step=Filtered(relation.step, relation.bind_condition(self.where)))
        relation = explode(relation, items)
        if self.partition_by:
            relation = self._partition_by(relation, items)
        if self.is_aggregate:
            return aggregation.aggregate(self, relation, items)
        keys, values = self.split(items, relation.keys)
        columns = [(name, self._value(relation, expression)) for name, expression in values]
        into = tuple(Named(name, code.type) for name, code in columns)
        step = Projected(relation.step, tuple(code for _, code in columns), into)
        return step, keys, into, relation

    def _value(self, relation: Relation, expression: Expression) -> TypedExpression:
        """Return a bound value. If it equals a synthetic key column, it is read from the key."""
        for at, key in enumerate(relation.keys):
            if key.is_made and expression in key.equals:
                return TypedExpression(BoundColumn(f"k[{at}]", key.named.type, key.named.name), key.named.name)
        return relation.bind(expression)

    def _relation(self, items: Sequence[Item]) -> Relation:
        used: set[tuple[str, str]] = set()
        wanted = [item.expression for item in items]
        wanted += [condition for condition in (self.where, self.having) if condition is not None]
        for expression in (*wanted, *self.ons, *self.group_by, *self.partition_by):
            used |= {(column.source, column.name) for column in columns(expression)}
        scans = {alias: self.scan(alias, source, used) for alias, source in self.sources.by_alias.items()}
        result = scans[self.query.source.alias]
        for join, on in zip(self.query.joins, self.ons, strict=True):
            result = joining.join(result, scans[join.source.alias], join, on, self.made_name, self.key_format)
        return result

    def scan(self, alias: str, source: Source, used: set[tuple[str, str]]) -> Relation:
        """Return the rows of a source, with the columns that are used."""
        names = [named.name for named in source.columns]
        names += [item for _, item in sorted(used) if item not in names and source.type_of(item) is not None]
        slots = []
        for name in dict.fromkeys(names):
            kind = source.type_of(name)
            if (alias, name) in used and kind is not None:
                slots.append(Slot(alias, name, kind))
        keys = tuple(KeyColumn(named, (Column(named.name, alias),)) for named in source.keys)
        step = Scan(source, alias, tuple(slots))
        return Relation(
            step,
            tuple(slots),
            keys,
            source.encoding.key_kind,
            source.is_table,
            source.windowing,
            is_framed=source.is_framed,
            standard=self.query.standard,
            sources=(alias,),
        )

    def _partition_by(self, relation: Relation, items: Sequence[Item]) -> Relation:
        if relation.is_table:
            raise SqlError(self.query.place, "a table can't be PARTITION BY: its key says which row it is; GROUP BY it")
        nulls = [item for item in self.partition_by if isinstance(item, Literal) and item.value is None]
        if nulls and len(self.partition_by) > 1:
            raise SqlError(nulls[0].place, "PARTITION BY NULL takes the key away: leave the other columns out, or NULL")
        if nulls:
            return replace(
                relation, step=Rekeyed(relation.step, (), (), self.key_format), keys=(), windowing=None, is_framed=False
            )
        return self.rekey(relation, self.partition_by, items)

    def rekey(
        self, relation: Relation, by: Sequence[Expression], items: Sequence[Item], *, drops_null: bool = False
    ) -> Relation:
        """Return rows with a key of expressions. Its columns have the names with which they are selected."""
        codes = [relation.bind(expression) for expression in by]
        keys = []
        for at, (expression, code) in enumerate(zip(by, codes, strict=True)):
            name = next((item.name for item in items if item.expression == expression), "")
            is_made = not name and (not isinstance(expression, Column) or expression.name in PSEUDO)
            plain = expression.name if isinstance(expression, Column | Field) else f"KSQL_COL_{at}"
            keys.append(KeyColumn(Named(name or plain, code.type), (expression,), is_made))
        # The same key in the same format is in the same partition, so no repartition is needed. This is not true of
        # windowed keys, because the new key has no window.
        stays = (
            len(by) == len(relation.keys)
            and relation.windowing is None
            and relation.format == self.key_format
            and all(expression in key.equals for expression, key in zip(by, relation.keys, strict=True))
        )
        into = tuple(key.named for key in keys)
        alone = () if drops_null else tuple(relation.bind_to_key(expression) for expression in by)
        step = Rekeyed(relation.step, tuple(codes), into, self.key_format, stays, drops_null, alone)
        framed = relation.is_framed and stays
        return replace(relation, step=step, keys=tuple(keys), format=self.key_format, windowing=None, is_framed=framed)

    def split(
        self, items: Sequence[Item], keys: Sequence[KeyColumn]
    ) -> tuple[tuple[Named, ...], list[tuple[str, Expression]]]:
        """Return the key columns with their names in the result, and the other columns. Raises SqlError."""
        chosen = {at: _chosen(items, key) for at, key in enumerate(keys)}
        named: dict[int, Named] = {}
        values: list[tuple[str, Expression]] = []
        taken: dict[str, Item] = {}
        for item in items:
            if item.name in taken:
                raise SqlError(
                    item.expression.place, f"two columns are called {item.name}: give one another name with AS"
                )
            taken[item.name] = item
            at = next((n for n in range(len(keys)) if n not in named and chosen[n] is item), None)
            if at is None:
                self._check_copy(item, chosen.values())
                values.append((item.name, item.expression))
            else:
                named[at] = Named(item.name, keys[at].named.type)
        has_star = any(map(self._adds_key, self.query.select))
        for at, key in enumerate(keys):
            if at not in named and has_star and key.is_made:
                named[at] = key.named
                self.names = (key.named.name, *self.names)
            elif at not in named and self._is_transient:
                named[at] = Named(f"{_UNSELECTED}{at}", key.named.type)
            elif at not in named:
                # The name of an expression without an alias can't be selected.
                shown = key.named.name if isinstance(key.equals[0], Column) else to_sql(key.equals[0])
                raise SqlError(
                    self.query.place,
                    f"the key column {shown} is missing from the SELECT list: add it, because the result must "
                    "contain its key",
                )
        if not values and not self.query.standard and not self._is_transient:
            raise SqlError(
                self.query.place,
                "all selected columns are key columns: select another one, such as "
                f"AS_VALUE({to_sql(items[0].expression)}) AS copy",
            )
        return tuple(named[at] for at in range(len(keys))), values

    def _adds_key(self, selected: Selected) -> bool:
        """Return whether an item is a star that includes a synthetic key. S.* in a join does not include it."""
        star = selected.expression
        return isinstance(star, Star) and star.struct is None and not (star.source and self.query.joins)

    def _check_copy(self, item: Item, keys: Iterable[Item | None]) -> None:
        """Raise SqlError if an item selects a key column a second time, as in ksqlDB. PostgreSQL allows it."""
        if (
            self.query.standard
            or self._is_transient
            or not any(key and key.expression == item.expression for key in keys)
        ):
            return
        raise SqlError(
            item.expression.place,
            f"{item.name} selects the key a second time: write AS_VALUE({to_sql(item.expression)}) AS {item.name}",
        )


def _chosen(items: Sequence[Item], key: KeyColumn) -> Item | None:
    """Return the first item that equals a key column and therefore becomes the key column of the result."""
    return next((item for expression in key.equals for item in items if item.expression == expression), None)
