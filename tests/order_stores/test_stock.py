"""Items of a product are available, reserved or sold. Each step of an order moves its quantity."""

from order_stores.model import ProductStock
from tests.order_stores.harness import driver, lifecycle, pipe


def test_created_reserves_stock_and_shipped_sells_it() -> None:
    results = lifecycle(driver(), "created", "paid", "shipped", "delivered")
    assert [(r.stock_left, r.reserved, r.sold) for r in results] == [(97, 3, 0), (97, 3, 0), (97, 0, 3), (97, 0, 3)]


def test_cancelled_releases_the_reserved_quantity() -> None:
    task = driver()
    results = lifecycle(task, "created", "paid", "cancelled")
    assert (results[-1].stock_left, results[-1].reserved, results[-1].sold) == (100, 0, 0)
    assert task.store("inventory") == {"lamp": ProductStock(100, 0, 0)}


def test_stock_is_summed_per_product() -> None:
    task = driver()
    pipe(task, "created", order_id="o1", quantity=5)
    pipe(task, "created", order_id="o2", quantity=7)
    pipe(task, "created", order_id="o3", quantity=1, product_id="desk")
    assert task.store("inventory") == {"desk": ProductStock(99, 1, 0), "lamp": ProductStock(88, 12, 0)}


def test_product_is_backordered_while_orders_exceed_stock() -> None:
    task = driver(initial_stock=5)
    first = pipe(task, "created", order_id="o1", quantity=5)
    assert (first.stock_left, first.backordered) == (0, False)
    second = pipe(task, "created", order_id="o2", quantity=1)
    assert (second.stock_left, second.backordered) == (-1, True)
    assert second.summary == "ORDER_PROCESSED:o2:status=created:customer_orders=2:stock_left=-1"
    released = pipe(task, "cancelled", order_id="o1")
    assert (released.stock_left, released.backordered) == (4, False)


def test_the_initial_stock_is_that_of_a_products_first_order() -> None:
    assert pipe(driver(initial_stock=0), "created").stock_left == -3
    assert pipe(driver(), "created").stock_left == 97
