"""A small source of a shop in every language that has a grammar, and in two that are cut by heading."""

from __future__ import annotations

from assay.search import SearchConfig
from assay.search.config import DenseSettings, TranslationSettings

SAMPLES = {
    "cart.py": '''"""The cart."""
import math

LIMIT = 10


class Cart:
    """Items a customer wants."""

    def add(self, item):
        """Put an item in."""
        self.items.append(item)

    def total(self):
        return sum(self.items)


def rounded(price):
    # to the next cent
    return math.ceil(price * 100) / 100
''',
    "cart.js": """import { price } from "./price";
/** Put an item in. */
export function addItem(cart, item) {
  cart.push(item);
  return price(item);
}
class Basket {
  total() { return this.items.length; }
}
""",
    "order.ts": """interface Order { id: number; lines: string[] }
export class OrderBook {
  private orders: Order[] = [];
  place(order: Order): number { return this.orders.push(order); }
}
""",
    "view.tsx": """export const View = (props: { name: string }) => {
  return <div className="cart">{props.name}</div>;
};
""",
    "store.go": """package store

import "fmt"

// Item is for sale.
type Item struct{ Price int }

// Total adds prices up.
func Total(items []Item) int {
	sum := 0
	for _, item := range items {
		sum += item.Price
	}
	fmt.Println(sum)
	return sum
}
""",
    "tax.rs": """use std::collections::HashMap;

/// A rate of tax.
pub struct Rate { pub percent: u32 }

impl Rate {
    pub fn of(&self, amount: u32) -> u32 {
        amount * self.percent / 100
    }
}

fn lookup(rates: &HashMap<String, Rate>) -> usize { rates.len() }
""",
    "Payment.java": """package shop;

import java.util.List;

/** Takes money. */
public class Payment {
    private int amount = 0;

    public void charge(List<Integer> cents) {
        for (int cent : cents) { amount += cent; }
    }
}
""",
    "stock.c": """#include <stdio.h>
#define MOST 100

struct stock { int count; };

/* Count what is left. */
int remaining(struct stock *s) {
    return MOST - s->count;
}
""",
    "queue.cpp": """#include <vector>
namespace shop {
template <typename T> class Queue {
 public:
  void push(T value) { items_.push_back(value); }
 private:
  std::vector<T> items_;
};
}  // namespace shop
""",
    "shipping.rb": """require "json"

module Shipping
  # Wraps an order.
  class Parcel
    def initialize(weight)
      @weight = weight
    end

    def heavy?
      @weight > 20
    end
  end
end
""",
    "coupon.kt": """package shop

import java.time.LocalDate

/** Takes something off. */
data class Coupon(val code: String, val percent: Int) {
    fun applies(day: LocalDate): Boolean = day.dayOfMonth > 1
}
""",
    "receipt.swift": """import Foundation

struct Receipt {
    var lines: [String] = []
    func printed() -> String { return lines.joined(separator: "\\n") }
}
""",
    "search.scala": """package shop

object Search {
  case class Hit(name: String, score: Double)
  def best(hits: Seq[Hit]): Option[Hit] = hits.sortBy(-_.score).headOption
}
""",
    "login.php": """<?php
namespace Shop;

class Login {
    public function check(string $name): bool {
        return strlen($name) > 0;
    }
}
""",
    "Mailer.cs": """using System;

namespace Shop {
    public class Mailer {
        public void Send(string to) { Console.WriteLine(to); }
    }
}
""",
    "deploy.sh": """#!/bin/bash
TARGET=/srv/shop

deploy() {
  cp -r build "$TARGET"
}
deploy
""",
    "discount.lua": """local M = {}

-- Take something off.
function M.discount(price, percent)
  return price - price * percent / 100
end

return M
""",
    "account.ex": """defmodule Shop.Account do
  @moduledoc "Who buys."

  def open(name) do
    %{name: name}
  end
end
""",
    "Money.hs": """module Money where

data Money = Money { cents :: Int }

-- | Add two amounts.
plus :: Money -> Money -> Money
plus (Money a) (Money b) = Money (a + b)
""",
    "alloc.zig": """const std = @import("std");

pub fn total(items: []const u32) u32 {
    var sum: u32 = 0;
    for (items) |item| sum += item;
    return sum;
}
""",
    "screen.dart": """import 'dart:math';

class Screen {
  final int width = 80;
  int half() => max(width ~/ 2, 1);
}
""",
    "schema.sql": """-- What is for sale.
CREATE TABLE item (id INTEGER PRIMARY KEY, price INTEGER);
CREATE VIEW cheap AS SELECT id FROM item WHERE price < 100;
""",
    "shop.yaml": """shop:
  name: corner
  opens: 8
limits:
  - 10
  - 20
""",
    "shop.toml": """[shop]
name = "corner"

[limits]
most = 20
""",
    "shop.json": """{
  "shop": {"name": "corner", "opens": 8},
  "limits": [10, 20]
}
""",
    "shop.html": """<!DOCTYPE html>
<html><body>
<h1 id="top">Shop</h1>
<div id="cart"><p>Nothing yet.</p></div>
</body></html>
""",
    "shop.css": """.cart { color: red; }
@media print {
  .cart { display: none; }
}
""",
    "README.md": """# Shop

Sells things.

## Paying

Cards and cash. See `Payment`.

```
# not a heading
```

## Returns

Within a week.
""",
    "guide.rst": """Guide
=====

How to open the shop.

Hours
-----

From eight to six.
""",
}  # fmt: skip

#: Twice as much for some languages, so that a file can be edited into another one.
EDITS = {
    "py": ["", "x = 1\n", SAMPLES["cart.py"], SAMPLES["cart.py"] + "\n\ndef refund(cart):\n    return cart.total()\n",
           "def refund(cart):\n    return -cart.total()\n", "def broken(:\n  (\n", "# größe\ngröße = 3\n"],
    "js": ["", SAMPLES["cart.js"], "const refund = (cart) => cart.total();\n", "\n\n\n"],
    "md": ["", SAMPLES["README.md"], "just text, no heading", "# Refunds\n\nWithin a week.\n"],
    "rs": [SAMPLES["tax.rs"], "fn refund() -> u32 { 3 }\n", "\ufeffpub mod cart;\n"],
    "yaml": [SAMPLES["shop.yaml"], "a: 1\n"],
    "txt": ["refund the cart\n", "日本語のテキスト\n", "\r\ncart\r\n", "cart\rtotal\r"],
}  # fmt: skip


#: The engine without its model: what the laws of words are about.
BY_WORDS = SearchConfig(dense=DenseSettings(model=""), translation=TranslationSettings(model=""))
