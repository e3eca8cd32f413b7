defmodule Phoenix.LiveDashboard.PageBuilder do
  @moduledoc """
  Pages of LiveDashboard, and components for them. Here a table is shown at once, sorted by its first choice; in the real package
  it is a process's own part of the page, with links that sort.
  """

  use Phoenix.Component

  alias Phoenix.LiveView.Socket

  defstruct [:info, :module, :node, :params, :route, tick: 0, allow_destructive_actions: false]

  @callback init(term) :: {:ok, session :: map} | {:ok, session :: map, requirements :: keyword}
  @callback menu_link(session :: map, capabilities :: map) ::
              {:ok, String.t()} | {:disabled, String.t()} | {:disabled, String.t(), String.t()} | :skip
  @callback mount(params :: map, session :: map, %Socket{}) :: {:ok, %Socket{}}
  @callback render(assigns :: map) :: term
  @callback handle_event(event :: String.t(), params :: map, %Socket{}) :: {:noreply, %Socket{}}
  @callback handle_refresh(%Socket{}) :: {:noreply, %Socket{}}
  @optional_callbacks mount: 3, handle_event: 3, handle_refresh: 1

  defmacro __using__(_opts) do
    quote do
      use Phoenix.Component
      import Phoenix.LiveDashboard.PageBuilder
      @behaviour Phoenix.LiveDashboard.PageBuilder
      def init(opts), do: {:ok, opts}
      defoverridable init: 1
    end
  end

  @doc "One to three columns (`:col`)."
  def row(%{col: columns} = assigns) when length(columns) in 1..3 do
    ~H"""
    <div class="row"><div :for={column <- @col} class="col"><%= render_slot(column) %></div></div>
    """
  end

  @doc "A value with a title."
  def card(assigns) do
    assigns = Enum.into(assigns, %{title: nil, inner_title: nil, inner_hint: nil})

    ~H"""
    <h5 :if={@title}><%= @title %></h5>
    <div class="banner-card">
      <h6 :if={@inner_title}><%= @inner_title %><span :if={@inner_hint}><%= @inner_hint %></span></h6>
      <div><%= render_slot(@inner_block) %></div>
    </div>
    """
  end

  @doc "A table of the rows that a function finds."
  def live_table(%{id: _, title: _, page: page, row_fetcher: fetch} = assigns) do
    first =
      Enum.find(assigns.col, & &1[:sortable]) ||
        raise ArgumentError, "must have at least one column with :sortable parameter"

    by = assigns[:default_sort_by] || first.field
    column = Enum.find(assigns.col, &(&1.field == by))
    {rows, total} = fetch.(%{sort_by: by, sort_dir: column.sortable, search: nil, limit: nil}, page.node)
    assigns = Enum.into(%{rows: rows, total: total}, Map.put_new(assigns, :row_attrs, fn _row -> [] end))

    ~H"""
    <h5><%= @title %></h5>
    <p>Showing <%= @total %> <%= @rows_name %></p>
    <table id={@dom_id}>
      <tr><th :for={column <- @col}><%= column[:header] || column.field %></th></tr>
      <%= for row <- @rows, do: table_row(%{row: row, col: @col, attributes: @row_attrs.(row)}) %>
    </table>
    """
  end

  defp table_row(%{attributes: attributes} = assigns) do
    {:safe, cells} = ~H"""
    <td :for={column <- @col}><%= if column.inner_block, do: render_slot(column, @row), else: @row[column.field] %></td>
    """

    attributes = for {name, value} <- attributes, do: Phoenix.Component.__attribute__(name, value)
    {:safe, ["<tr", attributes, ">", cells, "</tr>"]}
  end
end
